// The review beside the page: choose a field and see its place, decide with keys, drag to set evidence.
// Without it the page is a form whose buttons do the same by asking the server.

const stage = document.getElementById('stage')
const form = document.getElementById('review')
const fields = [...document.querySelectorAll('[data-field]')]
const sizes = stage ? JSON.parse(stage.dataset.sizes) : []
const SVG = 'http://www.w3.org/2000/svg'
let chosen = fields.find(f => f.classList.contains('chosen'))

const part = (field, name) => form?.elements[`${name}.${field.dataset.field}`]
const actionOf = field => field.querySelector('input[type=radio]:checked')?.value ?? ''
const boxesOf = node => JSON.parse(node.dataset.boxes || '[]')

// -- the page

async function turnTo (number) {
  if (number < 1 || number > sizes.length) return
  if (String(number) !== stage.dataset.page) {
    stage.dataset.page = number
    stage.setAttribute('aria-label', `Page ${number}`)
    document.querySelector('[data-page-word]').textContent = `Page ${number} of ${sizes.length}`
    if (form) form.elements.page.value = number
    if ('pdf' in stage.dataset) {
      const image = stage.querySelector('img')
      const [width, height] = sizes[number - 1]
      image.width = Math.round(width); image.height = Math.round(height)
      image.src = stage.dataset.images + number + stage.dataset.query
      image.alt = `Page ${number} of the document`
      stage.querySelector('.marks').setAttribute('viewBox', `0 0 ${width} ${height}`)
      stage.scrollTop = 0
    } else {
      const asked = new URL(location.href); asked.searchParams.set('page', number)
      const reply = await fetch(asked, { headers: { 'X-Live': '1' } }).catch(() => undefined)
      if (!reply?.ok || stage.dataset.page !== String(number)) return
      const words = new DOMParser().parseFromString(await reply.text(), 'text/html').getElementById('words')
      document.getElementById('words').textContent = words?.textContent ?? ''
    }
  }
  light()
}

function rectangle (box, kind) {
  const [left, top, right, bottom] = box
  const made = document.createElementNS(SVG, 'rect')
  const values = { x: left - 1, y: top - 1, width: right - left + 2, height: bottom - top + 2, rx: 1.5, class: kind }
  for (const [name, value] of Object.entries(values)) made.setAttribute(name, value)
  return made
}

// The chosen field's place is lit; those of others on this page are faint. `other` is a place that is not the field's own.
function light (other) {
  const number = stage.dataset.page
  const place = other ?? chosen
  if (!('pdf' in stage.dataset)) { lightWords(place, number); return }
  const marks = stage.querySelector('.marks')
  marks.replaceChildren()
  for (const field of fields) if (field !== chosen && field.dataset.page === number) marks.append(...boxesOf(field).map(b => rectangle(b, 'faint')))
  const lit = place && String(place.dataset.page) === number ? boxesOf(place).map(b => rectangle(b, 'lit')) : []
  marks.append(...lit)
  if (lit.length) {
    const at = boxesOf(place)[0][1] / sizes[number - 1][1] * stage.querySelector('.leaf').clientHeight
    if (at < stage.scrollTop || at > stage.scrollTop + stage.clientHeight - 60) stage.scrollTop = at - stage.clientHeight / 3
  }
}
function lightWords (place, number) {
  const words = document.getElementById('words')
  const text = [...words.textContent] // by characters, as the server counts
  const here = place && String(place.dataset.page) === number && Number(place.dataset.end) > Number(place.dataset.start)
  if (!here) { words.textContent = text.join(''); return }
  const mark = document.createElement('mark')
  mark.className = 'lit'; mark.textContent = text.slice(place.dataset.start, place.dataset.end).join('')
  words.replaceChildren(text.slice(0, place.dataset.start).join(''), mark, text.slice(place.dataset.end).join(''))
  stage.scrollTop = mark.offsetTop - stage.offsetTop - stage.clientHeight / 3
}

// -- fields

function choose (field, { scroll = true, place } = {}) {
  if (!field) return
  chosen?.classList.remove('chosen')
  chosen = field
  field.classList.add('chosen')
  field.open = true
  const rest = field.closest('.rest')
  if (rest) rest.open = true
  if (form) form.elements.field.value = field.dataset.field
  for (const word of document.querySelectorAll('[data-chosen-word]')) word.textContent = field.dataset.label
  if (scroll) field.scrollIntoView({ block: 'nearest' })
  const at = place ?? field
  if (at.dataset.page) turnTo(Number(at.dataset.page)).then(() => light(at)); else light()
}
function next () {
  const from = fields.indexOf(chosen)
  const around = [...fields.slice(from + 1), ...fields.slice(0, from + 1)]
  const field = around.find(f => 'flagged' in f.dataset && !actionOf(f)) ?? fields[(from + 1) % fields.length]
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
  if (!form) return
  for (const field of fields) {
    const action = actionOf(field); const badge = field.querySelector('[data-decided]')
    field.classList.toggle('decided', action !== '')
    if (badge) { badge.hidden = !action; badge.querySelector('span').textContent = action }
  }
  const open = fields.filter(f => 'flagged' in f.dataset && !actionOf(f))
  document.getElementById('approve').disabled = open.length > 0
  document.querySelector('[data-missing]').textContent = open.length
    ? `${open.length} ${open.length === 1 ? 'field still needs' : 'fields still need'} a decision: ${open.map(f => f.dataset.label).join(', ')}`
    : 'Every doubtful field has its decision'
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
  const turn = target.closest?.('[data-turn]')
  if (turn) { event.preventDefault(); turnTo(Number(stage.dataset.page) + Number(turn.dataset.turn)); return }
  const field = target.closest?.('[data-field]')
  if (target.closest?.('[data-show]')) { event.preventDefault(); choose(field, { scroll: false }); return }
  if (target.closest?.('[data-take]')) {
    event.preventDefault()
    const other = target.closest('li')
    choose(field, { scroll: false, place: other })
    correct(field, other.dataset.value)
    mark(field, other.dataset.at, other.dataset.page, other.dataset.quote)
    return
  }
  const doing = target.closest?.('[data-do]')?.dataset.do
  if (doing === 'next') next()
  else if (doing && chosen) {
    if (doing === 'accept') decide(chosen, 'accept') ? next() : part(chosen, 'value').focus()
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
  if (event.key === 'Enter' && event.target.matches('[data-field] input:not([type=radio])')) { event.preventDefault(); event.target.blur(); next() }
})
let sent = false
form?.addEventListener('submit', event => { if (sent) event.preventDefault(); else sent = true })
addEventListener('pageshow', () => { sent = false; weigh() })

// -- drag on the page, in points from its top left corner

const leaf = stage?.querySelector('.leaf')
if (leaf) {
  let from
  let ghost
  const point = event => {
    const seen = leaf.getBoundingClientRect(); const [width, height] = sizes[stage.dataset.page - 1]
    const clip = (value, most) => Math.min(Math.max(value, 0), most)
    return [clip((event.clientX - seen.left) / seen.width * width, width), clip((event.clientY - seen.top) / seen.height * height, height)]
  }
  const spanned = (a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1])]
  leaf.addEventListener('pointerdown', event => {
    if (event.button !== 0 || event.pointerType === 'touch') return
    event.preventDefault()
    from = point(event)
    leaf.setPointerCapture(event.pointerId)
  })
  leaf.addEventListener('pointermove', event => {
    if (!from || !('deciding' in stage.dataset)) return
    ghost?.remove()
    ghost = rectangle(spanned(from, point(event)), 'drag')
    stage.querySelector('.marks').append(ghost)
  })
  leaf.addEventListener('pointerup', async event => {
    if (!from) return
    const box = spanned(from, point(event))
    from = undefined
    ghost?.remove()
    if (box[2] - box[0] < 3 || box[3] - box[1] < 3) { // a click: whose place is it?
      const [x, y] = box
      const hit = f => f.dataset.page === stage.dataset.page && boxesOf(f).some(b => b[0] <= x && x <= b[2] && b[1] <= y && y <= b[3])
      choose(fields.find(hit))
      return
    }
    if (!chosen || !('deciding' in stage.dataset)) return
    const field = chosen
    const asked = `page=${stage.dataset.page}&box=${box.map(n => n.toFixed(1)).join(',')}`
    const reply = await fetch(stage.dataset.text + asked).catch(() => undefined)
    const found = reply?.ok ? await reply.json() : { quote: '' }
    if (!found.quote) { nothing(field); return }
    mark(field, found.place, found.page, found.quote)
    if (!actionOf(field) || actionOf(field) === 'correct') correct(field, found.quote.replace(/\s+/g, ' ').trim())
    light({ dataset: { page: found.page, boxes: JSON.stringify(found.boxes) } })
  })
}
function nothing (field) {
  const marked = field.querySelector('[data-marked]')
  marked.hidden = false
  marked.querySelector('span').textContent = 'There are no words in this rectangle'
}

// In a Word file or plain text, words are selected.
document.getElementById('words')?.addEventListener('pointerup', () => {
  const words = document.getElementById('words'); const selection = getSelection()
  if (!chosen || !('deciding' in stage.dataset) || selection.isCollapsed || !words.contains(selection.anchorNode)) return
  const range = selection.getRangeAt(0); const before = document.createRange()
  before.setStart(words, 0); before.setEnd(range.startContainer, range.startOffset)
  const start = [...before.toString()].length; const quote = range.toString(); const end = start + [...quote].length
  if (!quote.trim()) return
  mark(chosen, `${stage.dataset.page}:${start}-${end}`, stage.dataset.page, quote)
  if (!actionOf(chosen) || actionOf(chosen) === 'correct') correct(chosen, quote.replace(/\s+/g, ' ').trim())
})

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
if (stage && chosen) light()
if (chosen && new URLSearchParams(location.search).has('field')) chosen.scrollIntoView({ block: 'nearest' })
