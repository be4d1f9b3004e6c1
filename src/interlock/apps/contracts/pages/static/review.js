// The review beside the page: choose a field and see its place, decide with keys, drag to set evidence.
// Without it the page is a form whose buttons do the same by asking the server.

const stage = document.getElementById('stage')
const viewer = stage?.viewer
const form = document.getElementById('review')
const fields = [...document.querySelectorAll('[data-field]')]
let chosen = fields.find(f => f.classList.contains('chosen'))
let other // a place that is not the chosen field's own: an alternative, or what was just marked

const part = (field, name) => form?.elements[`${name}.${field.dataset.field}`]
const actionOf = field => field.querySelector('input[type=radio]:checked')?.value ?? ''
const boxesOf = node => JSON.parse(node.dataset.boxes || '[]')
const placeOf = node => ({ page: node.dataset.page, start: node.dataset.start, end: node.dataset.end, boxes: boxesOf(node) })

// -- the page

function redraw () {
  if (!viewer) return
  const faint = fields.filter(f => f !== chosen && Number(f.dataset.page) === viewer.page).flatMap(boxesOf)
  viewer.light(other ?? (chosen && placeOf(chosen)), faint)
}

// -- fields

function choose (field, { scroll = true, place } = {}) {
  if (!field) return
  chosen?.classList.remove('chosen')
  chosen = field
  other = place
  field.classList.add('chosen')
  field.open = true
  const rest = field.closest('.rest')
  if (rest) rest.open = true
  if (form) form.elements.field.value = field.dataset.field
  for (const word of document.querySelectorAll('[data-chosen-word]')) word.textContent = field.dataset.label
  if (scroll) field.scrollIntoView({ block: 'nearest' })
  const at = place ?? placeOf(field)
  if (at.page && viewer) viewer.turnTo(Number(at.page)).then(redraw); else redraw()
}
function go (by) {
  const from = fields.indexOf(chosen)
  const around = by > 0 ? [...fields.slice(from + 1), ...fields.slice(0, from + 1)] : [...fields.slice(0, Math.max(from, 0)).reverse()]
  const uncertain = by > 0 && (around.find(f => 'flagged' in f.dataset && !actionOf(f)) ?? around.find(f => 'unsure' in f.dataset && !actionOf(f) && f !== chosen))
  const field = uncertain || around[0]
  if (!field) return
  choose(field)
  field.querySelector('summary').focus({ preventScroll: true })
}
function decide (field, action) {
  const radio = field.querySelector(`input[type=radio][value=${action}]`)
  if (!radio) return false
  radio.checked = true
  weigh()
  return true
}
function weigh () {
  if (!form || form.dataset.over) return
  for (const field of fields) {
    const action = actionOf(field)
    field.classList.toggle('decided', action !== '')
    for (const badge of field.querySelectorAll('summary [data-decided]')) badge.hidden = badge.dataset.decided !== action
    const sure = field.querySelector('[data-certainty]')
    if (sure) sure.hidden = action !== ''
    showValue(field, action)
  }
  const open = fields.filter(f => 'flagged' in f.dataset && !actionOf(f))
  document.getElementById('approve').disabled = open.length > 0
  document.querySelector('[data-missing]').textContent = open.length
    ? `${open.length} ${open.length === 1 ? 'field still needs' : 'fields still need'} a decision: ${open.map(f => f.dataset.label).join(', ')}`
    : 'Every doubtful field has a decision'
}
// What was wrong is struck out, and what stands now is beside it.
function showValue (field, action) {
  const short = field.querySelector('[data-short]')
  const was = short.dataset.was
  if (!action && !short.dataset.touched) return
  short.dataset.touched = 'yes'
  const typed = (part(field, 'value')?.value ?? '').replace(/\s+/g, ' ').trim()
  const stands = action === 'correct' ? typed : action === 'clear' || action === 'absent' ? '' : was
  const gone = document.createElement('del'); gone.textContent = was
  const value = document.createElement('span'); value.textContent = stands || (action ? 'none' : 'not found')
  if (!stands) value.className = 'muted'
  short.replaceChildren(...(was && stands !== was ? [gone, ' '] : []), value)
}
function mark (field, place, page, quote) {
  part(field, 'at').value = place
  const marked = field.querySelector('[data-marked]')
  marked.hidden = false
  marked.querySelector('span').textContent = `Evidence, page ${page}: ${quote.replace(/\s+/g, ' ').slice(0, 160)}`
}
function correct (field, value) {
  const input = part(field, 'value')
  if (value && input && (input.tagName !== 'SELECT' || [...input.options].some(o => o.value === value))) input.value = value
  decide(field, 'correct')
}

document.addEventListener('click', event => {
  const target = event.target
  const field = target.closest?.('[data-field]')
  if (target.closest?.('[data-show]')) { event.preventDefault(); choose(field, { scroll: false }); return }
  if (target.closest?.('[data-take]')) {
    event.preventDefault()
    const one = target.closest('li')
    choose(field, { scroll: false, place: { page: one.dataset.page, boxes: boxesOf(one) } })
    correct(field, one.dataset.value)
    mark(field, one.dataset.at, one.dataset.page, one.dataset.quote)
    return
  }
  const doing = target.closest?.('[data-do]')?.dataset.do
  if (doing === 'next') go(1)
  else if (doing === 'previous') go(-1)
  else if (doing && chosen) {
    if (doing === 'accept') decide(chosen, 'accept') ? go(1) : part(chosen, 'value').focus()
    else if (doing === 'absent') { decide(chosen, 'absent'); go(1) }
    else { choose(chosen); decide(chosen, 'correct'); const input = part(chosen, 'value'); input.focus(); input.select?.() }
  } else if (field && field !== chosen) choose(field, { scroll: false })
})
document.addEventListener('focusin', event => {
  const field = event.target.closest?.('[data-field]')
  if (field && field !== chosen && event.target.matches('input, textarea, select')) choose(field, { scroll: false })
})
form?.addEventListener('change', weigh)
form?.addEventListener('input', event => {
  if (event.target.name?.startsWith('value.')) decide(event.target.closest('[data-field]'), 'correct')
})
form?.addEventListener('keydown', event => {
  if (event.key === 'Enter' && event.target.matches('[data-field] input:not([type=radio])')) { event.preventDefault(); event.target.blur(); go(1) }
})

// -- what was dragged or clicked on the page

if (viewer) {
  viewer.redraw = () => { redraw(); return true }
  viewer.clicked = ([x, y]) => {
    const hit = f => Number(f.dataset.page) === viewer.page && boxesOf(f).some(b => b[0] <= x && x <= b[2] && b[1] <= y && y <= b[3])
    choose(fields.find(hit))
  }
  viewer.marked = found => {
    const field = chosen
    if (!field || !form) return
    if (!found.quote) {
      const marked = field.querySelector('[data-marked]')
      marked.hidden = false
      marked.querySelector('span').textContent = 'There are no words here'
      return
    }
    mark(field, found.place, found.page, found.quote)
    if (!actionOf(field) || actionOf(field) === 'correct') correct(field, found.quote.replace(/\s+/g, ' ').trim())
    other = found
    redraw()
  }
}

// -- the review is held while this window has it: leaving releases it, and longer work renews it

const releaseForm = document.getElementById('release')
let sent = false
for (const one of [form, releaseForm]) one?.addEventListener('submit', event => { if (sent) event.preventDefault(); else sent = true })
if (releaseForm) {
  addEventListener('pagehide', () => { if (!sent) navigator.sendBeacon(releaseForm.action, new URLSearchParams(new FormData(releaseForm))) })
  let touched = false
  form.addEventListener('input', () => { touched = true })
  setInterval(() => {
    if (!touched || sent) return
    touched = false
    const body = new URLSearchParams(new FormData(releaseForm)); body.set('key', crypto.randomUUID?.() ?? String(Math.random()))
    fetch(releaseForm.action.replace(/release$/, 'take'), { method: 'POST', body, redirect: 'manual' }).catch(() => undefined)
  }, 600000)
}
addEventListener('pageshow', event => { sent = false; if (event.persisted) location.reload(); else weigh() })

// Somebody else decided or took it while this window was open: it can only be read from then on.
const over = document.getElementById('over')
function freeze () {
  const decided = document.getElementById('decided') ?? document.getElementById('taken')
  if (!form || !decided || form.dataset.over) return
  form.dataset.over = 'yes'
  sent = true
  for (const one of document.querySelectorAll('#review *, [form=review], .keys-bar :is([data-do=accept], [data-do=edit], [data-do=absent])')) if ('disabled' in one) one.disabled = true
  delete stage.dataset.deciding
  const notice = document.getElementById('too-late')
  notice.textContent = `${decided.textContent.trim()} What you have entered here is not sent.`
  notice.hidden = false
}
if (over && form) new MutationObserver(freeze).observe(over, { childList: true, subtree: true })

// -- how long there is

const began = performance.now()
setInterval(() => {
  for (const time of document.querySelectorAll('[data-left]')) {
    const left = Number(time.dataset.left) - (performance.now() - began) / 1000
    const hours = Math.floor(left / 3600); const minutes = Math.floor(left % 3600 / 60)
    time.textContent = left <= 0 ? 'late' : hours ? `${hours} h ${minutes} min left` : minutes ? `${minutes} min left` : `${Math.floor(left)} s left`
  }
}, 1000)

for (const bar of document.querySelectorAll('.keys-bar')) bar.hidden = false
if (chosen) for (const word of document.querySelectorAll('[data-chosen-word]')) word.textContent = chosen.dataset.label
weigh()
if (stage && chosen) redraw()
if (chosen && new URLSearchParams(location.search).has('field')) chosen.scrollIntoView({ block: 'nearest' })
