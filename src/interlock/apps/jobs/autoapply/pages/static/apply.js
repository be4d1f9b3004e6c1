// An application whose packet is made, or made again, while its page is open.

document.addEventListener('interlock:shown', () => {
  const now = document.querySelector('[data-packet]')
  const shown = document.querySelector('[data-shows]')
  if (!now || !shown || now.dataset.packet === shown.dataset.shows) return
  if (shown.dataset.shows) document.getElementById('changed').hidden = false
  else location.reload()
})

// A form whose preview keeps up with what is typed. Without this script its button shows the preview.

let waiting
async function preview (form) {
  const data = new URLSearchParams(new FormData(form))
  data.set('do', 'preview')
  const asked = String(data)
  form.dataset.asked = asked
  const reply = await fetch(form.getAttribute('action'), { method: 'POST', body: data }).catch(() => undefined)
  if (!reply?.ok || form.dataset.asked !== asked) return
  const page = new DOMParser().parseFromString(await reply.text(), 'text/html')
  const old = document.getElementById(form.dataset.previews)
  const fresh = page.getElementById(form.dataset.previews)
  if (old && fresh && form.dataset.asked === asked) old.replaceChildren(...fresh.childNodes)
}
document.addEventListener('input', event => {
  const form = event.target.closest?.('form[data-previews]')
  if (!form) return
  clearTimeout(waiting)
  waiting = setTimeout(() => preview(form), 300)
})

// A card that is dropped on another stage fills in and sends its own form, which asks how a closed one ended.

let dragged
document.addEventListener('dragstart', event => {
  dragged = event.target.closest?.('.ticket[draggable=true]')
  if (!dragged) return
  event.dataTransfer.effectAllowed = 'move'
  event.dataTransfer.setData('text/plain', '')
  dragged.classList.add('moving')
})
document.addEventListener('dragend', () => {
  dragged?.classList.remove('moving')
  for (const stage of document.querySelectorAll('.stage.over')) stage.classList.remove('over')
  dragged = undefined
})
const target = event => {
  const stage = dragged && event.target.closest?.('[data-stage]')
  return stage && stage !== dragged.closest('[data-stage]') ? stage : undefined
}
document.addEventListener('dragover', event => {
  const stage = target(event)
  for (const one of document.querySelectorAll('.stage.over')) if (one !== stage) one.classList.remove('over')
  if (stage) { event.preventDefault(); stage.classList.add('over') }
})
document.addEventListener('drop', event => {
  const stage = target(event)
  if (!stage) return
  event.preventDefault()
  const form = dragged.querySelector('form')
  form.elements.stage.value = stage.dataset.stage
  if (stage.dataset.stage === 'closed') { form.closest('details').open = true; form.elements.ending.focus() } else form.requestSubmit()
})
