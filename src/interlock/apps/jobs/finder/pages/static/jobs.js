// The finder's keys in lists of postings, and profiles from files. The pages also work without this script.

const rows = () => [...document.querySelectorAll('[data-row]')]
const current = () => document.activeElement?.closest?.('[data-row]')

function move (by) {
  const every = rows()
  const at = every.indexOf(current())
  const next = every[at < 0 ? 0 : at + by]
  if (next) { next.focus({ preventScroll: true }); next.scrollIntoView({ block: 'nearest' }) }
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return
  if (event.target.closest?.('input, textarea, select, dialog, [contenteditable]')) return
  if (localStorage.getItem('interlock-keys') === 'off' || !rows().length) return
  if (event.key === 'j' || event.key === 'k') { event.preventDefault(); move(event.key === 'j' ? 1 : -1); return }
  const row = current()
  if (!row) return
  if (event.key === 'Enter' && event.target === row) { event.preventDefault(); row.querySelector('[data-open]')?.click(); return }
  const button = row.querySelector(`[data-do="${CSS.escape(event.key)}"]`)
  if (!button) return
  event.preventDefault()
  // The row may go when it is decided, so the focus leaves it first.
  const every = rows()
  const at = every.indexOf(row)
  const next = every[at + 1] ?? every[at - 1]
  next?.focus({ preventScroll: true })
  button.click()
})

document.addEventListener('change', async event => {
  const into = event.target.dataset?.into
  const file = into && event.target.files?.[0]
  if (file) document.getElementById(into).value = await file.text()
})
