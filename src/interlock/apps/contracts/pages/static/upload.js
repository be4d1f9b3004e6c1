// Several files at once, by choosing or dropping: each is sent separately and shows its progress and its answer.
// Without this script the form sends them together.

const form = document.getElementById('upload')
const input = document.getElementById('files')
const drop = document.getElementById('drop')
const list = document.getElementById('files-list')
const most = Number(form.dataset.most)
const waiting = []
let busy = false
let accepted = 0
let all = 0

for (const one of document.querySelectorAll('[data-needs-script]')) one.hidden = false
document.getElementById('send').hidden = true

const sign = kind => document.getElementById('signs').content.querySelector(`[data-for=${kind}]`).cloneNode(true)
function row (name) {
  const made = document.getElementById('file-row').content.firstElementChild.cloneNode(true)
  made.querySelector('b').textContent = name
  list.append(made)
  document.getElementById('sent').hidden = false
  say(made, 'work', 'Waiting')
  return made
}
function say (item, kind, text, to = '') {
  item.className = kind === 'work' ? '' : kind
  item.querySelector('[data-sign]').replaceChildren(sign(kind))
  item.querySelector('[data-said]').textContent = text
  if (kind !== 'work') item.querySelector('progress').remove()
  const open = item.querySelector('a')
  open.hidden = !to
  if (to) { open.href = to; open.setAttribute('aria-label', `Open ${item.querySelector('b').textContent}`) }
}
function count () {
  document.querySelector('[data-count]').textContent = waiting.length || busy ? `${accepted} of ${all} accepted so far` : `${accepted} of ${all} accepted`
}
function add (files) {
  for (const file of files) {
    all++
    const item = row(file.name)
    if (file.size > most) say(item, 'bad', `Refused: it has ${(file.size / 1e6).toFixed(1)} MB, and the limit is ${most / 1e6} MB`)
    else waiting.push({ file, item })
  }
  count()
  if (!busy) next()
}
async function next () {
  const one = waiting.shift()
  if (!one) { busy = false; count(); return }
  busy = true
  await send(one.file, one.item)
  count()
  next()
}
function send (file, item) {
  return new Promise(resolve => {
    const body = new FormData()
    for (const name of ['csrf', 'workspace', 'vertical']) body.append(name, form.elements[name].value)
    body.append('file', file, file.name)
    const request = new XMLHttpRequest()
    const bar = item.querySelector('progress')
    request.open('POST', form.getAttribute('action'))
    request.setRequestHeader('Accept', 'application/json')
    request.upload.onprogress = event => {
      if (!event.lengthComputable) return
      bar.value = 100 * event.loaded / event.total
      if (event.loaded === event.total) { bar.removeAttribute('value'); say(item, 'work', 'It is being read') } else say(item, 'work', `${Math.round(100 * event.loaded / event.total)} % sent`)
    }
    request.onload = () => {
      let answer
      try { answer = JSON.parse(request.responseText).files?.[0] } catch { answer = undefined }
      if (answer) { if (answer.accepted) accepted++; say(item, answer.accepted ? 'good' : 'bad', answer.said, answer.to) } else say(item, 'bad', `Refused (${request.status}). Reload the page and try again.`)
      resolve()
    }
    request.onerror = () => { say(item, 'bad', 'No answer from the server. Check the list before you try again.'); resolve() }
    say(item, 'work', 'Sending')
    request.send(body)
  })
}

input.addEventListener('change', () => { add([...input.files]); input.value = '' })
form.addEventListener('submit', event => event.preventDefault())
for (const name of ['dragenter', 'dragover']) drop.addEventListener(name, event => { event.preventDefault(); drop.classList.add('over') })
for (const name of ['dragleave', 'drop']) drop.addEventListener(name, () => drop.classList.remove('over'))
drop.addEventListener('drop', event => { event.preventDefault(); add([...event.dataTransfer.files]) })
// A file that is dropped beside the zone would replace the page.
for (const name of ['dragover', 'drop']) addEventListener(name, event => event.preventDefault())
