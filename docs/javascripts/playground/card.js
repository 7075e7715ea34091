// One limit of the page: its fields, its picture, the result of one request, its code.

;(() => {
  const { TYPES, CODE, make, chart, mark, place, textOf, duration, simulate, BEHIND } = playground

  const nearest = (steps, value) =>
    steps.reduce((best, step, index) => (Math.abs(step - value) < Math.abs(steps[best] - value) ? index : best), 0)

  /** An input for one field, and a function that shows a value in it. */
  function input({ name, label, steps, shown = String, flag, choices }, set) {
    if (flag) {
      const box = make('input', { type: 'checkbox', onchange: () => set(name, box.checked) })
      const show = (value) => {
        box.checked = value
      }
      return { element: make('label', { class: 'pg-field pg-flag' }, box, make('span', {}, label)), show }
    }
    if (choices) {
      const options = Object.entries(choices).map(([value, words]) => make('option', { value }, words))
      const list = make('select', { onchange: () => set(name, list.value) }, ...options)
      const show = (value) => {
        list.value = value
      }
      return { element: make('label', { class: 'pg-field pg-choice' }, make('span', {}, label), list), show }
    }
    const said = make('output')
    const slider = make('input', {
      type: 'range',
      min: 0,
      max: steps.length - 1,
      step: 1,
      oninput: () => set(name, steps[Number(slider.value)]),
    })
    const show = (value) => {
      said.textContent = shown(value)
      slider.setAttribute('aria-valuetext', shown(value))
      slider.style.setProperty('--pg-part', `${(nearest(steps, value) / (steps.length - 1)) * 100}%`)
      if (steps[Number(slider.value)] !== value) slider.value = nearest(steps, value)
    }
    return { element: make('label', { class: 'pg-field' }, make('span', {}, label), said, slider), show }
  }

  /** The response to a request, as a client gets it. */
  function response({ blocked, headers }) {
    return [blocked ? 'HTTP/1.1 429 Too Many Requests' : 'HTTP/1.1 200 OK', ...headers.map((pair) => pair.join(': '))]
  }

  function copying(words, text) {
    const button = make(
      'button',
      {
        type: 'button',
        class: 'pg-button',
        onclick: async () => {
          await navigator.clipboard.writeText(text())
          button.textContent = 'Copied'
          setTimeout(() => button.replaceChildren(words), 1500)
        },
      },
      words,
    )
    return button
  }

  /** The code of a limit in the language that the reader has chosen. */
  function code(page) {
    const [text, tabs] = [make('code'), make('div', { class: 'pg-tabs', role: 'group', 'aria-label': 'Language' })]
    let limit
    const show = () => {
      text.textContent = CODE[page.language](limit)
      for (const tab of tabs.children) tab.setAttribute('aria-pressed', tab.textContent === page.language)
    }
    for (const language of Object.keys(CODE)) {
      const choose = () => {
        page.language = language
        page.redraw()
      }
      tabs.append(make('button', { type: 'button', class: 'pg-button', onclick: choose }, language))
    }
    const copy = copying('Copy', () => text.textContent)
    const head = make('div', { class: 'pg-row' }, tabs, copy)
    const element = make('details', { class: 'pg-code' }, make('summary', {}, 'Code'), head, make('pre', {}, text))
    return {
      element,
      show: (of) => {
        limit = of
        show()
      },
    }
  }

  /** The card of the limit with this index. `page` has the state, the chosen request, and ways to change them. */
  function card(engine, page, index) {
    const types = Object.keys(TYPES).map((value) => make('option', { value }, value))
    const type = make(
      'select',
      {
        'aria-label': 'Type',
        onchange: () => page.change(index, textOf({ type: type.value, ...TYPES[type.value].first })),
      },
      ...types,
    )
    const text = make('input', {
      class: 'pg-text',
      spellcheck: 'false',
      autocomplete: 'off',
      'aria-label': 'The limit as text or JSON',
      oninput: () => page.change(index, text.value),
    })
    const parts = Object.fromEntries(
      ['fields', 'words', 'result'].map((name) => [name, make('div', { class: `pg-${name}` })]),
    )
    const problem = make('p', { class: 'pg-problem', role: 'alert' })
    const picture = make('div', {
      class: 'pg-picture',
      tabindex: 0,
      role: 'slider',
      'aria-label': 'Requests and their results',
      'aria-valuemin': 0,
      onpointermove: (event) => event.pointerType === 'mouse' && point(event),
      onpointerdown: point,
      onkeydown: step,
    })
    const snippet = code(page)
    parts.result.setAttribute('aria-live', 'polite')
    let [limit, inputs, outcome, shape] = [{}, {}, { requests: [] }, '']

    function set(name, value) {
      limit = { ...limit, [name]: value }
      // What depends on another field begins anew with it.
      if (name === 'blockFor') delete limit.blockMax
      page.change(index, textOf(limit))
    }

    function build(name) {
      type.value = name
      inputs = Object.fromEntries(TYPES[name].fields.map((field) => [field.name, input(field, set)]))
      parts.fields.replaceChildren(...Object.values(inputs).map(({ element }) => element))
    }

    function point(event) {
      const box = picture.getBoundingClientRect()
      const { strip, column, row } = place(event.clientX - box.left, event.clientY - box.top, box.width)
      const mine = outcome.requests.filter(({ name }) => name === page.state.clients[strip]?.name)
      const away = (request) => Math.abs(request.column - column) * 100 + Math.abs(request.row - row)
      const [near] = mine.sort((one, other) => away(one) - away(other))
      if (near && Math.abs(near.column - column) < 3) page.choose(near)
    }

    function step(event) {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
      const last = outcome.requests.length - 1
      const now = outcome.requests.findIndex((request) => same(request, page.state.chosen))
      const next = { Home: 0, End: last }[event.key] ?? (move && Math.min(last, Math.max(0, now + move)))
      if (next === undefined || last < 0) return
      event.preventDefault()
      page.choose(outcome.requests[next])
    }

    const same = (one, other) =>
      other && one.name === other.name && one.column === other.column && one.row === other.row

    function result() {
      const at = outcome.requests.findIndex((request) => same(request, page.state.chosen))
      const request = outcome.requests[at]
      if (picture.firstChild) mark(picture.firstChild, request, page.state, picture.clientWidth)
      picture.setAttribute('aria-valuemax', Math.max(0, outcome.requests.length - 1))
      picture.setAttribute('aria-valuenow', Math.max(0, at))
      if (!request) return parts.result.replaceChildren(make('p', {}, 'Point at a request to see its result.'))
      const { name, at: time, blocked, resetMs } = request
      const verdict = blocked ? `denied; retry in ${duration(resetMs)}` : 'admitted'
      picture.setAttribute('aria-valuetext', `${name} at ${duration(time)}: ${verdict}`)
      const head = make(
        'p',
        {},
        make('b', { class: blocked ? 'pg-is-denied' : '' }, blocked ? 'Denied' : 'Admitted'),
        `: ${name} at ${time ? duration(time) : '0 s'}`,
        blocked ? `. Retry in ${duration(resetMs)}.` : '.',
      )
      parts.result.replaceChildren(
        head,
        make('pre', { class: 'pg-headers' }, make('code', {}, response(request).join('\n'))),
      )
    }

    function refresh() {
      const reply = simulate(engine, page.state, page.state.limits[index])
      if (document.activeElement !== text) text.value = page.state.limits[index]
      problem.textContent = reply.error ?? ''
      problem.hidden = !reply.error
      element.classList.toggle('pg-is-wrong', Boolean(reply.error))
      if (!reply.error) {
        outcome = reply
        limit = reply.limit
        if (shape !== limit.type && TYPES[limit.type]) build(limit.type)
        shape = limit.type
        const [said, ...more] = reply.words.split('\n')
        parts.words.replaceChildren(
          make('p', {}, said.replace(/^"[^"]*" \([^)]*\) a/, 'A')),
          ...more.map((line) => make('p', {}, line)),
        )
        picture.replaceChildren(chart(reply, page.state, picture.clientWidth))
        snippet.show(limit)
      }
      for (const [name, { show }] of Object.entries(inputs)) show(limit[name] ?? BEHIND[name] ?? limit.count)
      result()
      return outcome
    }

    const close = make(
      'button',
      {
        type: 'button',
        class: 'pg-button',
        'aria-label': `Remove limit ${index + 1}`,
        onclick: () => page.remove(index),
      },
      '✕',
    )
    const head = make(
      'div',
      { class: 'pg-row' },
      make('span', { class: 'pg-badge' }, `${index + 1}`),
      type,
      text,
      ...(page.state.limits.length > 1 ? [close] : []),
    )
    const element = make(
      'section',
      { class: 'pg-card', 'aria-label': `Limit ${index + 1}` },
      make('div', {}, head, problem),
      parts.fields,
      picture,
      parts.result,
      parts.words,
      snippet.element,
    )
    return { element, refresh, result }
  }

  Object.assign(playground, { card, copying })
})()
