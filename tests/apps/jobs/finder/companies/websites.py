"""Pages of made-up companies, in the shapes that real ones have."""

LIGHTHOUSE = "https://lighthouse.example"
ABOUT = """<!doctype html><html><head><title>About</title>
<meta name=description content="Lighthouse Freight plans container journeys for shippers around the world.">
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Organization",
 "name": "Lighthouse Freight, Inc.", "foundingDate": "2014-03-01",
 "numberOfEmployees": {"@type": "QuantitativeValue", "minValue": 51, "maxValue": 200},
 "address": {"@type": "PostalAddress", "addressLocality": "Portland", "addressRegion": "OR", "addressCountry": "US"}}
</script></head><body><nav><a href=/>Home</a> <a href=/careers>Careers</a></nav><main>
<h1>About us</h1><p>Lighthouse Freight is a logistics software company. We plan the way of containers for 400 shippers,
from the quay to the warehouse door, with Python, PostgreSQL and Kubernetes on AWS.</p>
<h2>Our mission</h2><p>Our mission is to end empty containers.</p>
<h2>Our values</h2><h3>Calm</h3><p>We finish on time and go home.</p><h3>Candour</h3><p>We say what is broken.</p>
<h2>How we are set up</h2><p>We are remote-first, with an office in Portland, Oregon.</p></main>
<footer>Hand-made with PHP by the Gloom agency, founded in 1971.</footer></body></html>"""
CAREERS = """<h1>Careers</h1><p>Come and plan with us.</p>
<iframe src="https://boards.greenhouse.io/embed/job_board?for=lighthousefreight"></iframe>
<link rel=alternate type="application/rss+xml" title="Blog" href="/blog/feed"><a href="/blog/feed">Blog</a>"""
PAGES = {f"{LIGHTHOUSE}/about": ABOUT, f"{LIGHTHOUSE}/careers": CAREERS}

NORDWIND = """<html lang=de><body><h1>Über uns</h1><p>Die Nordwind Energie GmbH wurde 1998 in Kiel gegründet und ist ein
führendes Energieunternehmen mit Sitz in Hamburg. Rund 1.200 Mitarbeitende planen und betreiben Windparks.</p>
<h2>Unsere Werte</h2><p>Wir arbeiten auf Augenhöhe, hören zu und lernen aus Fehlern, ohne Schuldige zu suchen.</p>
<h2>Unsere Mission</h2><p>Strom ohne Kohle, für alle, bis 2035.</p>
<a href="https://nordwind.jobs.personio.de/">Jobs</a></body></html>"""
BRAMBLE = """<h1>Who we are</h1><p>Bramble makes kitchen robots for canteens. Founded in 2019 by three cooks, we are a
Berlin-based robotics startup that cooks 40,000 meals a day for companies with 500 employees or more.</p>
<div><div>120+</div><div>employees</div></div><div><div>2019</div><div>founded</div></div>
<p>We are not remote-first: robots need hands.</p><a href="/en/jobs?ref=top">Jobs</a>"""
