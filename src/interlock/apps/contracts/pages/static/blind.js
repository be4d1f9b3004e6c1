// The blind check: what is dragged on the page goes into the selected field, and an empty form is confirmed.

const form = document.getElementById('review')
const releaseForm = document.getElementById('release')
const viewer = document.getElementById('stage')?.viewer
const inputs = [...document.querySelectorAll('[data-question] textarea')]
let chosen = inputs[0]
let sent = false

for (const input of inputs) input.addEventListener('focus', () => { chosen = input })
document.addEventListener('keydown', event => {
  if (event.key !== 'n' || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem('interlock-keys') === 'off') return
  if (event.target.closest?.('input, textarea, select')) return
  const next = inputs.find(one => !one.value.trim()) ?? inputs[0]
  if (next) { event.preventDefault(); next.focus() }
})
if (viewer) {
  viewer.marked = found => {
    if (!chosen || !found.quote) return
    chosen.value = found.quote.replace(/\s+/g, ' ').trim()
    viewer.light(found)
  }
}
form?.addEventListener('submit', event => {
  const sure = form.elements.sure
  if (event.submitter?.value === 'done' && !sure.checked && inputs.every(one => !one.value.trim())) {
    if (!confirm('Every field is empty. Say that the contract states none of this?')) { event.preventDefault(); return }
    sure.checked = true
  }
  if (sent) event.preventDefault(); else sent = true
})
releaseForm?.addEventListener('submit', () => { sent = true })
if (releaseForm) addEventListener('pagehide', () => { if (!sent) navigator.sendBeacon(releaseForm.action, new URLSearchParams(new FormData(releaseForm))) })
addEventListener('pageshow', event => { sent = false; if (event.persisted) location.reload() })
