"""Jobvite: an XML feed under the company's own id, the table of the careers page, and redirects that mean something."""

from __future__ import annotations

from html import escape

from interlock.apps.jobs.world.exchange import Call, Reply, element, html_reply, raw_element, redirect, xml_reply
from interlock.apps.jobs.world.identity import by_code, code, number
from interlock.apps.jobs.world.opening import Board, Opening
from interlock.apps.jobs.world.pages.layout import page
from interlock.apps.jobs.world.pages.posting import EMPLOYMENT, posting_page
from interlock.apps.jobs.world.systems.system import Boards, System


class Jobvite(System):
    kind = "jobvite"

    def home(self, base: str, board: Board) -> str:
        return f"{self.origin(base, board)}/{board.name}"

    def page(self, base: str, board: Board, opening: Opening, turn: int = 0) -> str:
        return f"{self.home(base, board)}/job/{code(opening.key, turn)}"

    def company_id(self, board: Board) -> str:
        """The id that only the careers page names: the slug, and something that cannot be guessed."""
        return f"{board.name}-q{number(board.name) % 1000}"

    def answer(self, call: Call, boards: Boards) -> Reply | None:
        match call.pieces:
            case ["CompanyJobs", "Xml.aspx"]:
                given = call.query.get("c", "")
                board = boards(given.rpartition("-q")[0])
                if board is None or given != self.company_id(board):
                    return redirect(f"{call.base}/jobvite-host/search?invalid=1")
                if not board.openings:
                    return redirect(f"{call.base}/jobvite-host/NoJobs.htm")
                return xml_reply(raw_element("result", "".join(self.job(call, board, one) for one in board.openings)))
            case [name] | [name, "search"] if board := boards(name):
                return self._table(call, board)
            case [name, "job", given, *_] if (board := boards(name)) and (one := by_code(board, given)):
                return posting_page(call, board, one, self.page(call.base, board, one))
            case [_] | [_, "search"]:
                return redirect(f"{call.base}/jobvite-host/search?invalid=1") if not call.query.get("invalid") else None
        return None

    def job(self, call: Call, board: Board, one: Opening) -> str:
        where, posted = self.page(call.base, board, one, call.turn), one.posted(call.began)
        return raw_element(
            "job",
            element("id", code(one.key, call.turn))
            + element("title", one.title)
            + element("requisitionid", f"JV{number(one.key) % 10_000}")
            + element("category", one.department)
            + element("jobtype", EMPLOYMENT[one.employment])
            + element("location", "; ".join(_placed(one)))
            + element("date", f"{posted.month}/{posted.day}/{posted.year}")
            + f"<detail-url><![CDATA[{where}]]></detail-url>"
            + f"<apply-url><![CDATA[{where}/apply]]></apply-url>"
            + element("description", one.html()),
        )

    def _table(self, call: Call, board: Board) -> Reply:
        rows = "".join(
            f'<tr><td class="jv-job-list-name"><a href="{escape(self.page(call.base, board, one, call.turn))}">'
            f"{escape(one.title)}</a></td>"
            f'<td class="jv-job-list-location">{escape("; ".join(_placed(one)))}</td></tr>\n'
            for one in board.openings
        )
        script = (
            f"<script>var jv = {{companyEId: '{self.company_id(board)}', careersiteName: '{board.name}'}};</script>"
        )
        table = f'<table class="jv-job-list">{rows}</table>'
        body = f'<div class="jv-page-body" ng-app="jv.careersite.desktop.app">{table}</div>'
        return html_reply(page(f"{board.company.name} Careers", body, script))


def _placed(one: Opening) -> list[str]:
    prefix = {"remote": "Remote, ", "hybrid": "Hybrid, ", "onsite": ""}[one.workplace]
    return [f"{prefix}{spot.name}" for spot in one.places]
