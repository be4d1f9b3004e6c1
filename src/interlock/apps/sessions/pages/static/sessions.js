// A session's page follows its agent, and the text fields grow. The pages also work without this script.

const page = document.querySelector('[data-session]')
let source
let pinned = true

// The conversation ends above its side column on a phone, so what counts is its own end, not that of the page.
const end = () => document.getElementById('composer') ?? document.getElementById('end')
const nearEnd = () => { const at = end()?.getBoundingClientRect(); return !at || at.top < innerHeight + 120 }
const toEnd = () => (document.querySelector('.approval') ?? end())?.scrollIntoView({ block: 'end' })
addEventListener('scroll', () => { pinned = nearEnd() }, { passive: true })

// The agent's lines are not in the history, so they have a stream of their own. What it sends is only taken as a hint.
let timer = 0
function hint () {
  if (timer) return
  timer = setTimeout(() => { timer = 0; document.dispatchEvent(new Event('interlock:changed')) }, 120)
}
let wait = 1000
let ended = false
function follow () {
  if (!page || document.hidden || source || ended) return
  source = new EventSource(`/sessions/${page.dataset.session}/events`)
  source.onopen = () => { wait = 1000 }
  for (const name of ['session', 'prompt', 'message']) source.addEventListener(name, hint)
  source.onerror = () => {
    if (source?.readyState !== EventSource.CLOSED) return
    source = undefined
    // A refused stream: the page asks for itself first, and says so if it is gone.
    hint()
    setTimeout(follow, wait); wait = Math.min(wait * 2, 30000)
  }
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) { source?.close(); source = undefined } else follow()
})
addEventListener('pagehide', () => source?.close())
follow()

// The page is gone, or nobody is logged in any more.
document.addEventListener('interlock:ended', () => { ended = true; source?.close(); source = undefined })

document.addEventListener('interlock:shown', () => {
  if (page && pinned && document.querySelector('.turn .live-dot, .approval')) toEnd()
  grow()
})
if (page && !location.hash && document.querySelector('.turn .live-dot, .approval')) toEnd()

// -- time left for an answer

const shown = new WeakMap()
setInterval(() => {
  for (const one of document.querySelectorAll('[data-left]')) {
    const known = shown.get(one)
    const until = known?.left === one.dataset.left ? known.until : Date.now() + 1000 * Number(one.dataset.left)
    shown.set(one, { left: one.dataset.left, until })
    const left = Math.max(0, Math.round((until - Date.now()) / 1000))
    one.textContent = left >= 60 ? `in ${Math.floor(left / 60)} min ${left % 60} s` : `in ${left} s`
  }
}, 1000)

// -- writing

function grow () {
  for (const field of document.querySelectorAll('[data-grow]')) {
    if (!field.value) continue
    field.rows = Math.min(20, Math.max(3, field.value.split('\n').length + 1))
  }
}
document.addEventListener('input', event => { if (event.target.matches?.('[data-grow]')) grow() })
document.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || !event.target.matches?.('[data-send]')) return
  event.preventDefault()
  event.target.form.requestSubmit()
})
