// What tests/support/crawling.py asks of a page. It runs before the page's own scripts.

window.crawler = (() => {
  const words = e => (e.textContent || e.value || '').trim().replace(/\s+/g, ' ').slice(0, 50)
  const name = e => [e.tagName.toLowerCase(), e.id && '#' + e.id, ...[...e.classList].map(one => '.' + one)].join('') + ` “${words(e)}”`
  const ancestors = function * (e) { for (let at = e.parentElement; at; at = at.parentElement) yield at }
  const scrolls = e => [...ancestors(e)].some(one => /auto|scroll/.test(getComputedStyle(one).overflowX))
  const titled = e => [e, ...ancestors(e)].some(one => one !== document.body && one.title) || e.querySelector('[title]')
  const seen = e => e.checkVisibility({ contentVisibilityAuto: true }) && !e.closest('svg, .visually-hidden, .skip')

  const crawler = { shifted: 0 }
  new PerformanceObserver(list => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) crawler.shifted += one.value
  }).observe({ type: 'layout-shift', buffered: true })

  // Scripts of the page have run, and what they changed is painted.
  crawler.settled = async () => {
    await document.fonts.ready
    await new Promise(resolve => setTimeout(resolve, 100))
    await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
  }

  // What is wider than its place, cut off without a way to read it, or outside of the window.
  crawler.look = () => {
    const found = []
    const over = document.documentElement.scrollWidth - document.documentElement.clientWidth
    if (over > 1) found.push(`${over} px wider than the window`)
    for (const e of document.querySelectorAll('body *')) {
      if (!seen(e)) continue
      const box = e.getBoundingClientRect()
      const cut = /hidden|clip/.test(getComputedStyle(e).overflowX) && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1
      if (cut && !titled(e)) found.push(`clipped: ${name(e)}`)
      const outside = box.width && (box.right > innerWidth + 1 || box.left < -1)
      if (outside && e.matches('a, button, input, select, textarea, summary') && !scrolls(e)) found.push(`outside: ${name(e)}`)
    }
    if (innerWidth >= 1280) {
      for (const e of document.querySelectorAll('main .scroll')) {
        if (e.scrollWidth > e.clientWidth + 1) found.push(`scrolls sideways by ${e.scrollWidth - e.clientWidth} px: ${name(e)}`)
      }
    }
    return [...new Set(found)]
  }

  // Menus whose panel nobody could see whole.
  crawler.menus = () => {
    const found = []
    for (const menu of document.querySelectorAll('details.menu')) {
      if (!seen(menu)) continue
      menu.open = true
      const panel = menu.querySelector('.panel')
      // A bar at the bottom of the window is not moved up by scrolling, so its menus open upwards.
      const low = menu.closest('.bar') && panel.getBoundingClientRect().bottom > innerHeight + 1
      if (low) found.push(`menu “${words(menu.querySelector('summary'))}” is below the window`)
      panel.scrollIntoView({ block: 'nearest', inline: 'nearest' })
      const box = panel.getBoundingClientRect()
      const said = `menu “${words(menu.querySelector('summary'))}”`
      if (box.right > innerWidth + 1 || box.left < -1) found.push(`${said} is outside: ${Math.round(box.left)} to ${Math.round(box.right)} of ${innerWidth}`)
      for (const around of ancestors(panel)) {
        if (around === document.body || getComputedStyle(around).overflow === 'visible') continue
        const place = around.getBoundingClientRect()
        if (box.bottom > place.bottom + 1 || box.left < place.left - 1) { found.push(`${said} is cut off by ${name(around).slice(0, 60)}`); break }
      }
      menu.open = false
    }
    return [...new Set(found)]
  }

  // Details, and menus where they fit; what was open before stays so.
  crawler.open = all => { for (const one of document.querySelectorAll(all ? 'main details' : 'details.menu')) one.open = all }
  crawler.barriers = async tags => (await axe.run({ runOnly: tags, resultTypes: ['violations'] })).violations
    .map(one => `${one.impact} ${one.id}: ${one.nodes.slice(0, 3).map(node => JSON.stringify(node.target)).join('; ')}`)
  crawler.links = () => [...document.querySelectorAll('a[href]:not([download])')].map(a => new URL(a.getAttribute('href'), location).href)

  // Bytes of the page, its style sheets and its scripts.
  crawler.weight = () => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter(one => one.entryType === 'navigation' || ['link', 'script', 'css'].includes(one.initiatorType))
    .reduce((sum, one) => sum + one.decodedBodySize, 0)
  return crawler
})()
