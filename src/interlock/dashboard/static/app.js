// Live updates, forms without page loads, and keyboard shortcuts. The pages also work without this script.

const keyOf = node => node.nodeType === 1 ? node.id || node.dataset.key : undefined
const sameDocument = (parent, node) => node.parentNode === parent
const place = (parent, node, before) =>
  sameDocument(parent, node) && parent.moveBefore ? parent.moveBefore(node, before) : parent.insertBefore(node, before)

// Turn `old` into `next` and preserve what is unchanged: focus, caret, open details, scroll position, typed text.
export function morph (old, next) {
  if (old.isEqualNode(next)) return
  if (old.nodeType !== 1) { old.data = next.data; return }
  if (old.hasAttribute('data-keep')) return
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name) && name !== 'open') old.removeAttribute(name)
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  const wanted = new Set([...next.children].map(keyOf).filter(Boolean))
  const known = new Map()
  for (const child of [...old.children]) {
    const key = keyOf(child)
    if (key) wanted.has(key) ? known.set(key, child) : child.remove()
  }
  let at = old.firstChild
  for (const coming of [...next.childNodes]) {
    const key = keyOf(coming)
    const same = key ? known.get(key) : at && !keyOf(at) && at.nodeName === coming.nodeName ? at : undefined
    if (!same || same.nodeName !== coming.nodeName) { place(old, coming, at); continue }
    if (same === at) at = at.nextSibling; else place(old, same, at)
    morph(same, coming)
  }
  while (at) { const gone = at; at = at.nextSibling; gone.remove() }
}

// -- live updates: an event arrives, and the page is requested again with its reader's permissions

let running = false
let again = false
let tag = ''
// The script of an application has learnt of a change that is not in the history.
document.addEventListener('interlock:changed', () => refresh())
async function refresh () {
  if (gone || document.body.hasAttribute('data-no-live')) return
  if (running) { again = true; return }
  running = true
  const reply = await fetch(location.href, { headers: { 'X-Live': '1', 'If-None-Match': tag } }).catch(() => undefined)
  // The page is gone, or no longer this reader's: asking again gives the same answer.
  const why = reply?.headers.get('X-Gone')
  if (why) { running = again = false; end(why); return }
  if (reply?.ok) tag = reply.headers.get('ETag') ?? ''
  if (reply?.ok) take(new DOMParser().parseFromString(await reply.text(), 'text/html'))
  await new Promise(resolve => setTimeout(resolve, 400))
  running = false
  if (again) { again = false; refresh() }
}
function take (page) {
  for (const region of document.querySelectorAll('[data-live]')) {
    const fresh = page.getElementById(region.id)
    if (fresh) morph(region, fresh)
  }
  showLive()
  document.dispatchEvent(new Event('interlock:shown'))
}

let source
let wait = 1000
let live = true
let gone = false
function showLive () {
  for (const dot of document.querySelectorAll('[data-live-dot]')) dot.classList.toggle('off', !live)
  for (const word of document.querySelectorAll('[data-live-word]')) word.textContent = live ? 'Live' : 'Not live'
}
// Nothing is requested from here on, until a form leads to another page.
function end (why) {
  gone = true; live = false; source?.close(); showLive()
  document.dispatchEvent(new Event('interlock:ended'))
  say(why === 'login' ? 'You are logged out. ' : 'This page is gone, or is no longer yours to see: it stays as it was.')
  if (why !== 'login') return
  const link = document.getElementById('said').appendChild(document.createElement('a'))
  link.href = '/ui/login?after=' + encodeURIComponent(location.pathname + location.search); link.textContent = 'Log in again'
}
function listen () {
  if (document.body.hasAttribute('data-no-live')) { live = false; showLive(); return }
  const topics = new Set([...document.querySelectorAll('[data-live]')].flatMap(r => r.dataset.live.split(' ')))
  if (!topics.size || document.hidden || gone) return
  source = new EventSource('/ui/live?' + [...topics].map(t => 'topic=' + encodeURIComponent(t)).join('&'))
  source.onopen = () => { live = true; wait = 1000; showLive() }
  source.addEventListener('listening', refresh)
  source.addEventListener('changed', refresh)
  source.addEventListener('ended', () => end('login'))
  source.onerror = () => {
    live = false; showLive()
    if (!gone && source.readyState === EventSource.CLOSED) { setTimeout(() => { listen(); refresh() }, wait); wait = Math.min(wait * 2, 30000) }
  }
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) { source?.close(); source = undefined } else if (!source) { listen(); refresh() }
})
addEventListener('pagehide', () => source?.close())
// Progress that is not in the history, so no event announces it.
setInterval(() => { if (!document.hidden && document.querySelector('[data-moving]')) refresh() }, 1000)
listen()

// -- forms: the same POST without a page load. A missing answer is reported; the form is never resent automatically

const sending = new WeakSet()
document.addEventListener('submit', async event => {
  const form = event.target
  if (sending.has(form)) { event.preventDefault(); return }  // Enter pressed twice is one form
  if (form.method !== 'post' || form.hasAttribute('data-plain') || event.defaultPrevented) return
  const sure = event.submitter?.dataset.sure ?? form.dataset.sure
  if (sure && !confirm(sure)) { event.preventDefault(); return }
  event.preventDefault()
  const data = new FormData(form, event.submitter)
  const body = form.enctype === 'multipart/form-data' ? data : new URLSearchParams(data)
  sending.add(form)
  for (const button of form.querySelectorAll('button')) button.disabled = true
  // The attribute, because a field named `action` would shadow the property.
  const reply = await fetch(form.getAttribute('action'), { method: 'POST', body }).catch(() => undefined)
  for (const button of form.querySelectorAll('button')) button.disabled = false
  sending.delete(form)
  if (!reply) { say('No answer from the server. Check the page before you try again.'); refresh(); return }
  const page = new DOMParser().parseFromString(await reply.text(), 'text/html')
  if (new URL(reply.url).pathname === '/ui/login') { end('login'); return }
  // A refused form may come back as its own page, with what is wrong in it.
  if (!reply.ok && !page.querySelector('[data-refused]')) { say(page.querySelector("main p")?.textContent ?? 'The request was refused.'); refresh(); return }
  goTo(page, reply.url)
})
const addressOf = where => where.pathname + where.search
let shownAddress = addressOf(location)
// Show another page in place of this one, and keep what both have: the focus stays where it is.
function goTo (page, url) {
  gone = false; tag = ''
  history.pushState(null, '', url.replace(/([?&])said=[^&#]*&?/, '$1').replace(/[?&]$/, ''))
  shownAddress = addressOf(location)
  document.title = page.title
  document.body.toggleAttribute('data-no-live', page.body.hasAttribute('data-no-live'))
  for (const part of ['.crumbs', '#main', '#nav']) {
    const old = document.querySelector(part); const fresh = page.querySelector(part)
    if (old && fresh) morph(old, fresh)
  }
  const said = page.getElementById('said')
  if (said) say(said.textContent, true)
  document.dispatchEvent(new Event('interlock:shown'))
  source?.close(); listen()
}
// A filter that applies when it is changed. By keyboard, the next one is a Tab away and not a page.
let asked = 0
async function filter (form) {
  const turn = ++asked
  const wanted = new URL(form.getAttribute('action') || location.pathname, location.href)
  wanted.search = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ''))
  const reply = await fetch(wanted).catch(() => undefined)
  const page = reply?.ok && new DOMParser().parseFromString(await reply.text(), 'text/html')
  if (turn !== asked) return  // changed again meanwhile: typing in a list passes other choices on the way
  if (!page || reply.redirected || !page.getElementById('main')) { location.assign(reply?.url ?? wanted); return }
  goTo(page, reply.url)
  // What was chosen in a field that is another one now.
  for (const one of document.querySelectorAll('#main form')) one.reset()
}
function say (text, good = false) {
  document.getElementById('said')?.remove()
  const box = document.createElement('div')
  box.id = 'said'; box.className = good ? 'said' : 'said bad'; box.setAttribute('role', good ? 'status' : 'alert'); box.textContent = text
  document.querySelector('.sheet .top')?.after(box)
}
// Also fired by a link to a part of this page, such as "Skip to content": that must not lose the focus.
addEventListener('popstate', () => { if (addressOf(location) !== shownAddress) location.reload() })

// -- keyboard shortcuts: click the element with data-hotkey, unless somebody types, holds a modifier, or switched them off

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  const typing = event.target.closest?.('input:not([type=checkbox],[type=radio]), textarea, select, [contenteditable]')
  if (event.key === 'Escape' && typing) { typing.blur(); return }
  if (typing || localStorage.getItem('interlock-keys') === 'off') return
  const field = document.querySelector(`[data-hotkey-focus="${CSS.escape(event.key)}"]`)
  if (field) { event.preventDefault(); field.focus(); return }
  const target = [...document.querySelectorAll(`[data-hotkey="${CSS.escape(event.key)}"]`)].find(e => !e.disabled && e.offsetParent !== null)
  if (!target) return
  event.preventDefault()
  target instanceof HTMLDialogElement ? (target.open ? target.close() : target.showModal()) : target.click()
  if (target.matches('summary')) target.parentElement.querySelector('.panel button, .panel input:not([type=hidden])')?.focus()
})
document.addEventListener('change', event => {
  if (event.target.matches('[data-keys-switch]')) localStorage.setItem('interlock-keys', event.target.checked ? 'on' : 'off')
  if (event.target.matches('[data-check-all]')) {
    for (const box of document.querySelectorAll(`input[name="${event.target.dataset.checkAll}"]`)) box.checked = event.target.checked
  }
  // A date that is being typed has the years 2 and 20 before 2026.
  if (event.target.matches('[data-auto-submit]') && event.target.form.checkValidity()) filter(event.target.form)
})
for (const box of document.querySelectorAll('[data-keys-switch]')) box.checked = localStorage.getItem('interlock-keys') !== 'off'
// A group of which one has to be checked; a click comes before the browser checks the form, also by Enter.
document.addEventListener('click', event => {
  const form = event.target.closest?.('button[type=submit]')?.form
  for (const group of form?.querySelectorAll('[data-one-of]') ?? []) {
    const boxes = [...group.querySelectorAll(`[name="${group.dataset.oneOf}"]`)]
    const fine = form.querySelector(group.dataset.unless)?.checked || boxes.some(box => box.checked)
    boxes[0]?.setCustomValidity(fine ? '' : group.dataset.says)
  }
}, true)
// Without this script, texts are copied by hand.
// The navigation scrolls: down where the window is low, to the right on a phone. The present page is in sight.
function showPlace () {
  const here = document.querySelector('#nav [aria-current=page]'); const box = here?.closest('.side')
  if (!box) return
  for (const scroller of [box, document.getElementById('nav')]) {
    const [at, around] = [here.getBoundingClientRect(), scroller.getBoundingClientRect()]
    if (at.right > around.right || at.left < around.left) scroller.scrollLeft += at.left - around.left - (around.width - at.width) / 2
    if (at.bottom > around.bottom || at.top < around.top) scroller.scrollTop += at.top - around.top - (around.height - at.height) / 2
  }
}
showPlace()
const offerCopies = () => { for (const button of document.querySelectorAll('[data-copy][hidden]')) button.hidden = false }
document.addEventListener('interlock:shown', offerCopies)
offerCopies()
document.addEventListener('click', async event => {
  const copier = event.target.closest?.('[data-copy]')
  if (copier) {
    const text = document.getElementById(copier.dataset.copy).textContent.trim()
    const done = await navigator.clipboard?.writeText(text).then(() => true, () => false)
    // Browsers have no clipboard on plain http: then the text is selected, for Ctrl-C.
    if (!done) getSelection().selectAllChildren(document.getElementById(copier.dataset.copy))
    copier.firstChild.textContent = done ? 'Copied' : 'Selected: press Ctrl-C'
  }
  const opener = event.target.closest?.('[data-opens]')
  if (opener) { const box = document.getElementById(opener.dataset.opens); box?.showModal?.() }
  for (const menu of document.querySelectorAll('details.menu[open]')) if (!menu.contains(event.target)) menu.open = false
})
