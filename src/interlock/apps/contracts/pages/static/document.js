// The document beside a form: pages, zoom, search, and drags over words. Review and blind check share it; what they
// need of it is `stage.viewer`. Without this script the pages are turned and searched by asking the server.

const stage = document.getElementById('stage')
const leaf = stage?.querySelector('.leaf')
const sizes = stage ? JSON.parse(stage.dataset.sizes) : []
const SVG = 'http://www.w3.org/2000/svg'
const isPdf = stage && 'pdf' in stage.dataset
const now = () => Number(stage.dataset.page)

function rectangle (box, kind) {
  const [left, top, right, bottom] = box
  const made = document.createElementNS(SVG, 'rect')
  const values = { x: left - 1, y: top - 1, width: right - left + 2, height: bottom - top + 2, rx: 1.5, class: kind }
  for (const [name, value] of Object.entries(values)) made.setAttribute(name, value)
  return made
}

// -- pages

async function turnTo (number) {
  if (number < 1 || number > sizes.length || number === now()) return
  stage.dataset.page = number
  stage.setAttribute('aria-label', `Page ${number}`)
  document.querySelector('[data-page-word]').textContent = `Page ${number} of ${sizes.length}`
  const form = document.getElementById('review')
  if (form?.elements.page) form.elements.page.value = number
  if (isPdf) {
    const [width, height] = sizes[number - 1]
    const image = leaf.querySelector('img')
    image.width = Math.round(width); image.height = Math.round(height)
    image.alt = `Page ${number} of the document`
    image.src = source(number)
    leaf.querySelector('.marks').setAttribute('viewBox', `0 0 ${width} ${height}`)
    stage.scrollTop = 0
    layOut()
  } else {
    const asked = new URL(location.href); asked.searchParams.set('page', number); asked.searchParams.delete('q')
    const reply = await fetch(asked, { headers: { 'X-Live': '1' } }).catch(() => undefined)
    if (reply?.status !== 200 || now() !== number) return
    const words = new DOMParser().parseFromString(await reply.text(), 'text/html').getElementById('words')
    document.getElementById('words').textContent = words?.textContent ?? ''
  }
  viewer.turned?.()
}
// A sharper image for a larger page; links with a signature have one size.
const source = number => {
  const wanted = stage.dataset.query === '?scale=2' && scale * devicePixelRatio > 2 ? '?scale=3' : stage.dataset.query
  return stage.dataset.images + number + wanted
}

// -- marks

// `lit` is a place with its page, its boxes and its characters; `faint` are boxes of other places on the page.
function light (lit, faint = []) {
  if (!isPdf) { lightWords(lit); return }
  const marks = leaf.querySelector('.marks')
  const here = lit && Number(lit.page) === now() ? lit.boxes : []
  marks.replaceChildren(...faint.map(b => rectangle(b, 'faint')), ...hitBoxes(), ...here.map(b => rectangle(b, 'lit')))
  if (here.length) reveal(here[0])
}
function reveal (box) {
  const { width, height } = leaf.getBoundingClientRect()
  const [wide, high] = sizes[now() - 1]
  const top = box[1] / high * height + leaf.offsetTop - stage.offsetTop
  if (top < stage.scrollTop || top > stage.scrollTop + stage.clientHeight - 60) stage.scrollTop = top - stage.clientHeight / 3
  const left = box[0] / wide * width + leaf.offsetLeft - stage.offsetLeft
  const right = box[2] / wide * width + leaf.offsetLeft - stage.offsetLeft
  if (left < stage.scrollLeft || right > stage.scrollLeft + stage.clientWidth) stage.scrollLeft = Math.max(0, left - 24)
}
function lightWords (place) {
  const words = document.getElementById('words')
  const text = [...words.textContent] // by characters, as the server counts
  const start = Number(place?.start); const end = Number(place?.end)
  if (!place || Number(place.page) !== now() || !(end > start)) { words.textContent = text.join(''); return }
  const mark = document.createElement('mark')
  mark.className = 'lit'; mark.textContent = text.slice(start, end).join('')
  words.replaceChildren(text.slice(0, start).join(''), mark, text.slice(end).join(''))
  stage.scrollTop = mark.offsetTop - stage.offsetTop - stage.clientHeight / 3
}

// -- zoom: pixels of the page for a point of the PDF

const STEPS = [0.5, 0.67, 0.8, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4]
const LARGEST = 1.7
let mode = localStorage.getItem('interlock-contract-zoom') || 'text'
let scale = 1
const room = () => stage.clientWidth - 24
const fitting = share => Math.max(0.3, room() / (sizes[now() - 1][0] * share))
// The part of the page's width that has ink: the text fills the room, its empty margins need not be seen.
let ink = [0.09, 0.91]
function seeInk () {
  const image = leaf.querySelector('img')
  if (!image.complete || !image.naturalWidth) return
  const width = 180; const height = 180
  const canvas = document.createElement('canvas'); canvas.width = width; canvas.height = height
  const drawn = canvas.getContext('2d', { willReadFrequently: true })
  drawn.drawImage(image, 0, 0, width, height)
  const seen = drawn.getImageData(0, 0, width, height).data
  let left = width; let right = 0
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const i = (y * width + x) * 4
      if (seen[i] + seen[i + 1] + seen[i + 2] < 690) { if (x < left) left = x; if (x > right) right = x }
    }
  }
  stage.dataset.inked = 'yes'
  ink = right > left ? [Math.max(0, left / width - 0.02), Math.min(1, (right + 1) / width + 0.02)] : [0.09, 0.91]
}
function layOut () {
  if (!isPdf) {
    scale = Number(mode) || 1
    document.getElementById('words').style.fontSize = `${(0.875 * scale).toFixed(3)}rem`
  } else {
    scale = mode === 'width' ? fitting(1) : Number(mode) || Math.max(fitting(1), Math.min(fitting(ink[1] - ink[0]), LARGEST))
    const wide = Math.round(sizes[now() - 1][0] * scale)
    const middle = (stage.scrollLeft + stage.clientWidth / 2) / Math.max(stage.scrollWidth, 1)
    const down = stage.scrollTop / Math.max(stage.scrollHeight, 1)
    leaf.style.width = `${wide}px`
    stage.scrollLeft = stage.scrollWidth * (Number(mode) ? middle : (ink[0] + ink[1]) / 2) - stage.clientWidth / 2
    stage.scrollTop = down * stage.scrollHeight
    const image = leaf.querySelector('img')
    const wanted = source(now())
    if (image.getAttribute('src') !== wanted && wanted.includes('scale=3')) image.src = wanted
  }
  document.querySelector('[data-zoom-word]').textContent = `${Math.round(scale * 100)} %`
  document.querySelector('[data-zoom=fit]').setAttribute('aria-pressed', String(mode === 'width'))
  document.querySelector('[data-zoom=out]').disabled = scale <= STEPS[0]
  document.querySelector('[data-zoom=in]').disabled = scale >= STEPS.at(-1)
}
function zoom (how) {
  if (how === 'fit') mode = mode === 'width' ? 'text' : 'width'
  else {
    const next = how === 'in' ? STEPS.find(s => s > scale + 0.01) : STEPS.findLast(s => s < scale - 0.01)
    if (next) mode = String(next)
  }
  localStorage.setItem('interlock-contract-zoom', mode)
  layOut()
}

// -- search

const input = document.getElementById('words-to-find')
let hits = []; let at = -1; let asked = ''; const boxesOn = new Map()
const hitBoxes = () => (boxesOn.get(now()) ?? []).flatMap(({ index, boxes }) => boxes.map(b => rectangle(b, index === at ? 'hit here' : 'hit')))
async function find (words, back) {
  if (words === asked && hits.length) { step(back ? -1 : 1); return }
  asked = words; hits = []; at = -1; boxesOn.clear()
  document.getElementById('found')?.remove()
  if (words.trim()) {
    const found = await ask(now())
    if (asked !== words) return
    hits = found?.hits ?? []
    at = hits.findIndex(h => h.page >= now())
    if (hits.length && at < 0) at = 0
  }
  await showHit()
}
async function step (by) { if (hits.length) { at = (at + by + hits.length) % hits.length; await showHit() } }
async function ask (page) {
  const reply = await fetch(`${stage.dataset.find}q=${encodeURIComponent(asked)}&page=${page}`).catch(() => undefined)
  const found = reply?.ok ? await reply.json() : undefined
  const here = (found?.hits ?? []).map((h, index) => ({ ...h, index })).filter(h => h.page === page)
  if (found) boxesOn.set(page, here.map((h, i) => ({ index: h.index, boxes: found.boxes[i] ?? [] })))
  return found
}
async function showHit () {
  const words = asked
  document.querySelector('[data-hit-word]').textContent = !words.trim() ? '' : hits.length ? `${at + 1} of ${hits.length}${hits.length >= 200 ? '+' : ''}` : 'Not in the document'
  for (const button of document.querySelectorAll('[data-hit]')) button.disabled = hits.length < 2
  const hit = hits[at]
  if (hit) {
    await turnTo(hit.page)
    if (isPdf && !boxesOn.has(hit.page)) await ask(hit.page)
  }
  if (asked !== words) return
  if (!isPdf) { light(hit) } else {
    viewer.redraw?.() ?? light()
    const box = boxesOn.get(now())?.find(b => b.index === at)?.boxes[0]
    if (hit && box) reveal(box)
  }
}

// -- a drag on the page, in points from its top left corner

if (leaf) {
  let from; let began; let ghost; let dragged = false
  const point = event => {
    const seen = leaf.getBoundingClientRect(); const [width, height] = sizes[now() - 1]
    const clip = (value, most) => Math.min(Math.max(value, 0), most)
    return [clip((event.clientX - seen.left) / seen.width * width, width), clip((event.clientY - seen.top) / seen.height * height, height)]
  }
  const spanned = (a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1])]
  const far = event => Math.hypot(event.clientX - began[0], event.clientY - began[1]) >= 5
  const over = () => { from = undefined; ghost?.remove(); ghost = undefined }
  leaf.addEventListener('pointerdown', event => {
    dragged = false
    if (event.button !== 0 || (event.pointerType === 'touch' && !leaf.classList.contains('selecting'))) return
    if (!('deciding' in stage.dataset)) return
    event.preventDefault()
    from = point(event); began = [event.clientX, event.clientY]
    leaf.setPointerCapture(event.pointerId)
  })
  leaf.addEventListener('pointermove', event => {
    if (!from || !far(event)) return
    ghost?.remove()
    ghost = rectangle(spanned(from, point(event)), 'drag')
    leaf.querySelector('.marks').append(ghost)
  })
  leaf.addEventListener('pointercancel', over)
  leaf.addEventListener('pointerup', async event => {
    if (!from) return
    const box = spanned(from, point(event)); const drag = far(event)
    over()
    if (!drag) return
    dragged = true
    // Along one line a drag has no height, and the server wants some.
    if (box[3] - box[1] < 0.5) box[3] = box[1] + 0.5
    if (box[2] - box[0] < 0.5) box[2] = box[0] + 0.5
    const reply = await fetch(`${stage.dataset.text}page=${now()}&box=${box.map(n => n.toFixed(1)).join(',')}`).catch(() => undefined)
    viewer.marked?.(reply?.ok ? await reply.json() : { quote: '' })
  })
  leaf.addEventListener('click', event => { if (!dragged) viewer.clicked?.(point(event)) })
}

// In a Word file or plain text, words are selected; half of a word becomes all of it.
document.getElementById('words')?.addEventListener('pointerup', () => {
  const words = document.getElementById('words'); const selection = getSelection()
  if (!('deciding' in stage.dataset) || selection.isCollapsed || !words.contains(selection.anchorNode)) return
  const range = selection.getRangeAt(0); const before = document.createRange()
  before.setStart(words, 0); before.setEnd(range.startContainer, range.startOffset)
  const text = [...words.textContent]
  let start = [...before.toString()].length; let end = start + [...range.toString()].length
  while (start < end && /\s/.test(text[start])) start++
  while (end > start && /\s/.test(text[end - 1])) end--
  if (start >= end) return
  while (start > 0 && /\S/.test(text[start - 1])) start--
  while (end < text.length && /\S/.test(text[end])) end++
  selection.removeAllRanges()
  viewer.marked?.({ quote: text.slice(start, end).join(''), place: `${now()}:${start}-${end}`, page: now(), start, end, boxes: [] })
})

// -- buttons

document.addEventListener('click', event => {
  const button = event.target.closest?.('[data-turn], [data-zoom], [data-hit], [data-select], [data-find]')
  if (!button || !stage) return
  const { turn, zoom: how, hit } = button.dataset
  if (turn) { event.preventDefault(); turnTo(now() + Number(turn)).then(() => viewer.redraw?.()) }
  else if (how) zoom(how)
  else if (hit) step(Number(hit))
  else if ('find' in button.dataset) { event.preventDefault(); find(input.value) }
  else {
    const on = leaf.classList.toggle('selecting')
    button.setAttribute('aria-pressed', String(on))
  }
})
input?.addEventListener('keydown', event => {
  if (event.key !== 'Enter') return
  event.preventDefault()
  find(input.value, event.shiftKey)
})
document.getElementById('finder')?.addEventListener('submit', event => { event.preventDefault(); find(input.value) })

const viewer = { turnTo, light, sizes, get page () { return now() }, marked: undefined, clicked: undefined, redraw: undefined, turned: undefined }
if (stage) {
  stage.viewer = viewer
  for (const one of document.querySelectorAll('[data-needs-script]')) one.hidden = false
  leaf?.querySelector('img').addEventListener('load', () => { seeInk(); if (!Number(mode) && mode !== 'width') layOut() })
  if (leaf) seeInk()
  layOut()
  let wide = stage.clientWidth
  new ResizeObserver(() => { if (Math.abs(stage.clientWidth - wide) > 4) { wide = stage.clientWidth; layOut() } }).observe(stage)
  if (input?.value.trim()) find(input.value)
}
