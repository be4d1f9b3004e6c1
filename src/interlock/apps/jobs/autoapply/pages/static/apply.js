// Buttons that copy an answer. Without this script, or without the clipboard, the answers are selected by hand.

if (navigator.clipboard) {
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false
  document.addEventListener('click', async event => {
    const button = event.target.closest?.('[data-copy]')
    const from = button && document.getElementById(button.dataset.copy)
    if (!from) return
    await navigator.clipboard.writeText(from.textContent)
    button.firstChild.textContent = 'Copied'
  })
}
