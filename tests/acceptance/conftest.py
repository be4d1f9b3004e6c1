"""What the acceptance tests share."""

import pytest

pytest.register_assert_rewrite("tests.acceptance.world")
