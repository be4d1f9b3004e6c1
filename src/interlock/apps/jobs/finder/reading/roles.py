"""Role types: what kind of work it is, by the title first, then by what the text is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from interlock.apps.jobs.finder.reading.document import Document
from interlock.apps.jobs.finder.reading.plain import folded
from interlock.apps.jobs.finder.reading.values import Skill, Value

_TITLES = (
    ("fullstack", r"full[- ]?stack|forward[- ]deployed (?:software )?engineer"),
    ("backend", r"back[- ]?end|server[- ]side|api (?:engineer|developer)"),
    ("frontend", r"front[- ]?end|ui (?:engineer|developer)|ui/ux|web ui"),
    (
        "ml-ai",
        r"machine learning|ml|ai|a\.i\.|artificial intelligence|deep learning|llm|nlp|computer vision"
        r"|data scientist|applied scientist|research (?:scientist|engineer)|prompt engineer|genai|gen ai|agentic",
    ),
    (
        "data",
        r"data (?:engineer|platform|analyst|architect|warehouse|infrastructure|engineering"
        r"|integration)\w*|analytics|etl|business intelligence|bi (?:developer|engineer|analyst)"
        r"|database|dba|big data|data",
    ),
    (
        "devops",
        r"dev ?(?:sec)?ops|sre|site reliability|infrastructure|cloud(?= security)|cloud (?:\w+ )?(?:engineer|architect"
        r"|platform|infrastructure|ops|operations|administrator)|network (?:engineer|administrator)"
        r"|platform (?:engineer|management|engineering)|kubernetes"
        r"|systems? administrator|production engineer|release engineer|reliability|observability",
    ),
    ("security", r"security|cyber\w*|appsec|infosec|penetration|devsecops|soc analyst|identity|iam"),
    (
        "qa",
        r"qa|quality(?: assurance| engineer)?|sdet|(?<!penetration )(?<!pen )(?<!security )test(?:er|ing)?"
        r"|test automation",
    ),
    ("mobile", r"mobile|ios|android|flutter|react native"),
    ("embedded", r"embedded|firmware|fpga|hardware|robotics|rtos|controls? (?:software )?engineer"),
    ("consulting", r"consultant|consulting|professional services|implementation (?:engineer|consultant)"),
    ("clearance-required", r"clearance|ts/sci|top secret|cleared"),
)
_TITLE = re.compile(
    "|".join(rf"(?P<r{index}>(?<![\w&])(?:{words})(?![\w&]))" for index, (_, words) in enumerate(_TITLES))
)
_HINTS = (
    (
        "backend",
        r"salesforce|java|python|golang|go|php|ruby|rails|scala|rust|\.net|c#|elixir|django|laravel"
        r"|spring|node(?:\.js)?|solidity",
    ),
    ("frontend", r"javascript|typescript|react(?! native)|angular|vue|web(?: developer| engineer)?|shopify|wordpress"),
)
"""Technologies in a title that suggest a kind where the text does not name one."""
_HINT = re.compile(
    "|".join(rf"(?P<r{index}>(?<![\w&])(?:{words})(?![\w&]))" for index, (_, words) in enumerate(_HINTS))
)
_ENGINEER = re.compile(r"(?:software|systems?) (?:development )?(?:engineer|developer)|\bswe\b|\bsde\b")
_FOR_ENGINEERS = re.compile(
    r"\b(?:developer (?:platforms?|tool(?:s|ing)|experience|productivity)|engineering productivity|devex|devx)\b"
)
"""What is built for other engineers is operations as well."""
_DEVELOPS = re.compile(
    r"\b(?:software|developer|programmer|swe|sde|coder|entwickler\w*|d\u00e9veloppeu\w+"
    r"|desarrollador\w*|desenvolvedor\w*"
    r"|ontwikkelaar|programmierer\w*|tech lead|engineering manager)\b"
)
"""Titles of software work, whatever it is for: "Software Engineer, Marketing"."""
_MLOPS = re.compile(
    r"\bml ?ops\b|\bllm ?ops\b|\b(?:ml|machine learning) (?:platform|infrastructure)\b"
    r"|\bai (?:platform|infrastructure) engineer\b"
)
_SOFTWARE = re.compile(
    r"\b(?:software|developer|programmer|devops|sre|data|ml|ai|machine learning|full[- ]?stack"
    r"|back[- ]?end|front[- ]?end|web|mobile|ios|android|qa|sdet|cloud|platform"
    r"|security|cyber|engineer|architect|entwickler\w*|d\u00e9veloppeu\w+|desarrollador\w*"
    r"|desenvolvedor\w*|ontwikkelaar|programmierer\w*|technical|tech|systems|it|engineering|swe|sde)\b"
)
_OTHER = re.compile(
    r"\b(?:civil|mechanical|electrical|structural|chemical|industrial|manufacturing|environmental"
    r"|process|geotechnical|biomedical|sales engineer"
    r"|account (?:executive|manager)|application support|it support|help ?desk|desktop support"
    r"|technical support|support specialist|sales|marketing|recruit\w*|accountant|accounting"
    r"|finance"
    r"|financial analyst|controller|payroll|nurse|physician|therapist|teacher|customer (?:success"
    r"|service|support)"
    r"|human resources|hr|legal|counsel|attorney|paralegal|warehouse|driver|operations manager"
    r"|copywriter|writer|translator|editor|content|designer|product manager|project manager|program manager"
    r"|business development|office manager|administrative|executive assistant|buyer|procurement"
    r"|supply chain|construction|surveyor|technician|estimator|retail|store|chef|cook)\b"
)
_FRONT = frozenset(
    {
        "React",
        "Vue.js",
        "Angular",
        "AngularJS",
        "Svelte",
        "Next.js",
        "Nuxt",
        "HTML",
        "CSS",
        "Redux",
        "Tailwind CSS",
        "Remix",
        "SvelteKit",
        "Astro",
        "Gatsby",
        "jQuery",
    }
)
_BOTH_ENDS = frozenset({"Next.js", "Nuxt", "Remix", "SvelteKit"})
"""Frameworks of a frontend that has a server."""
_BACK = frozenset(
    {
        "Python",
        "Java",
        "Go",
        "Ruby",
        "PHP",
        "C#",
        ".NET",
        "Node.js",
        "Scala",
        "Rust",
        "Elixir",
        "Kotlin",
        "Django",
        "Flask",
        "FastAPI",
        "Rails",
        "Spring",
        "Spring Boot",
        "PostgreSQL",
        "MySQL",
        "SQL Server",
        "NestJS",
        "gRPC",
        "Kafka",
        "Laravel",
        "ASP.NET Core",
        "Express",
        "Symfony",
        "Phoenix",
        "Quarkus",
    }
)
_OPERATIONS = frozenset(
    {
        "Kubernetes",
        "Docker",
        "Podman",
        "OpenShift",
        "Helm",
        "Terraform",
        "Ansible",
        "Jenkins",
        "GitHub Actions",
        "GitLab CI",
        "Argo CD",
        "Prometheus",
        "Grafana",
        "CloudFormation",
        "Pulumi",
    }
)
_SERVICES = re.compile(
    r"\b(?:accenture|cognizant|infosys|wipro|tata consultancy|tcs|capgemini|epam|globant"
    r"|thoughtworks|ci&t|truelogic|bairesdev|toptal|turing|gdit"
    r"|gd information technology|general dynamics information technology|leidos|booz allen|saic|caci"
    r"|deloitte|kpmg|pwc|ernst & young|slalom|publicis sapient|perficient|endava"
    r"|luxoft|dxc|ntt data|hcl\w*|tech mahindra|mphasis|jobot|cybercoders|robert half|insight global"
    r"|teksystems|kforce|randstad|hays|manpower\w*|adecco|akkodis|softserve|intellias"
    r"|andela|encora|wizeline|nearsure|softtek|sopra steria|atos|cgi|avanade|zuhlke|valtech|nagarro"
    r"|persistent systems|ltimindtree|virtusa|synechron|grid dynamics|n-ix"
    r"|revature|mantech|peraton|parsons|maximus|icf|guidehouse|unisys|consulting|consultancy"
    r"|consultants|staffing|recruitment|agency|outsourcing|solutions group)\b"
)
_LIMIT = 3


def roles_of(document: Document, skills: Sequence[Skill]) -> Value:
    """Up to three kinds of software work, then consulting and clearance where they apply."""
    low = folded(document.title)
    found = list(dict.fromkeys(_TITLES[int((one.lastgroup or "r0")[1:])][0] for one in _TITLE.finditer(low)))
    kinds = [name for name in found if name not in {"consulting", "clearance-required"}]
    rule, quote = "title", document.title
    if _MLOPS.search(low):
        kinds = list(dict.fromkeys(["ml-ai", "devops", *kinds]))
    if (
        not kinds
        and not _DEVELOPS.search(low)
        and (_OTHER.search(low) or not (_SOFTWARE.search(low) or found or _HINT.search(low)))
    ):
        advises = ["consulting"] if "consulting" in found else []
        return Value(["non-software", *advises], "title", document.title) if low else Value([], "not stated")
    if not kinds:
        kinds, rule, quote = _by_text(document, skills)
        if _FOR_ENGINEERS.search(low):
            kinds = list(dict.fromkeys([*kinds[:1], "devops", *kinds[1:]]))
    elif _ENGINEER.search(low) and set(kinds) <= {"ml-ai", "security"}:
        stack, _, _ = _by_text(document, skills)
        kinds = [*stack[:1], *kinds]
    if "fullstack" in kinds:
        kinds = [name for name in kinds if name != "data"]
    elif "backend" in kinds and "frontend" in kinds:
        kinds = ["fullstack", *(name for name in kinds if name not in {"backend", "frontend"})]
    result = list(dict.fromkeys(kinds))[:_LIMIT]
    if ("consulting" in found and not _ENGINEER.search(low)) or _is_service(document):
        result.append("consulting")
    if "clearance-required" in found or document.first("clearance", without=frozenset({"preferred", "legal"})):
        result.append("clearance-required")
    return Value(result, rule, quote)


def _is_service(document: Document) -> bool:
    return (
        _SERVICES.search(folded(document.company)) is not None
        or document.first("consulting", without=frozenset({"legal"})) is not None
    )


def _by_text(document: Document, skills: Sequence[Skill]) -> tuple[list[str], str, str]:
    """What a "software engineer" does: stacks by phrase or by technologies, then other fields."""
    names = {skill.name for skill in skills}
    kinds: list[str] = []
    full = document.first("fullstack", without=frozenset({"legal", "benefits", "company"}))
    counts = {
        kind: _count(document, kind)
        for kind in ("backend", "frontend", "ml-ai", "data", "devops", "security", "qa", "mobile", "embedded")
    }
    front, back = len(names & _FRONT) + len(names & _BOTH_ENDS), len(names & _BACK)
    hints = {_HINTS[int((one.lastgroup or "r0")[1:])][0] for one in _HINT.finditer(folded(document.title))}
    if full is not None:
        kinds.append("fullstack")
        kinds.extend(kind for kind in ("frontend", "backend") if document.first(f"leans-{kind}"))
    elif len(hints) == 2:
        kinds.append("fullstack")
    elif hints:
        kinds.extend(hints)
    elif front and back and front * 3 >= back and (counts["frontend"] or front > 1 or back == 1):
        kinds.append("fullstack")
    elif front > back or counts["frontend"] > counts["backend"] + 1:
        kinds.append("frontend")
    elif counts["embedded"] > 2:
        kinds.append("embedded")
    elif counts["mobile"] > 2:
        kinds.append("mobile")
    else:
        kinds.append("backend")
    for kind, least in (("ml-ai", 6), ("data", 4), ("devops", 4), ("security", 4), ("qa", 5), ("mobile", 4)):
        if counts[kind] >= least:
            kinds.append(kind)
    if len(names & _OPERATIONS) > 4 and not front and "devops" not in kinds:
        kinds.append("devops")
    quote = document.quote(full.start, full.end) if full is not None else ""
    return list(dict.fromkeys(kinds)), "what the text is about", quote


def _count(document: Document, cue: str) -> int:
    return sum(
        document.section(hit.start) not in {"legal", "benefits", "company"} for hit in document.cues.get(cue, ())
    )
