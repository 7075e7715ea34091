// The page: its clients and their requests, its limits, and the link that holds them.

;(() => {
  const { COLUMNS, MOST, NAMES, SPANS, PATTERNS, make, lane, duration, empty, written, read, card, copying } =
    playground
  const HEIGHT = 56

  /** The line of one client, painted by a pointer or by keys. */
  function line(page, client) {
    let [cursor, wanted, last] = [0, 0, 0]
    const surface = make('div', {
      class: 'pg-lane',
      tabindex: 0,
      role: 'slider',
      'aria-valuemin': 0,
      'aria-valuemax': MOST,
      'aria-label': `Requests of ${client.name}: left and right choose a time, up and down a number`,
      onfocus: draw,
      onblur: draw,
      onkeydown: key,
      onpointerdown: (event) => {
        const { column, row } = at(event)
        surface.setPointerCapture(event.pointerId)
        // Above what is there it adds; within, it takes away.
        wanted = client.counts[column] > row ? row : row + 1
        last = column
        paint(column, wanted)
      },
      onpointermove: (event) => {
        if (!event.buttons || !surface.hasPointerCapture(event.pointerId)) return
        const { column } = at(event)
        const [from, to] = [Math.min(last, column), Math.max(last, column)]
        for (let each = from; each <= to; each++) client.counts[each] = wanted
        last = column
        paint(column, wanted)
      },
    })

    function at(event) {
      const box = surface.getBoundingClientRect()
      const within = (part, parts) => Math.max(0, Math.min(parts - 1, Math.floor(part * parts)))
      return {
        column: within((event.clientX - box.left) / box.width, COLUMNS),
        row: within((box.bottom - event.clientY) / box.height, MOST),
      }
    }

    function paint(column, count) {
      cursor = column
      client.counts[column] = count
      page.active = client.name
      page.changed()
    }

    function key(event) {
      const count = client.counts[cursor]
      const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -COLUMNS, End: COLUMNS }[event.key]
      const next = { ArrowUp: count + 1, ArrowDown: count - 1, Delete: 0, Backspace: 0, ' ': count ? 0 : 1 }[event.key]
      const typed = /^[0-8]$/.test(event.key) ? Number(event.key) : next
      if (move) cursor = Math.max(0, Math.min(COLUMNS - 1, cursor + move))
      if (typed !== undefined) paint(cursor, Math.max(0, Math.min(MOST, typed)))
      else if (move) draw()
      else return
      event.preventDefault()
    }

    function draw() {
      const shown = document.activeElement === surface && surface.matches(':focus-visible') ? cursor : -1
      surface.replaceChildren(lane(client, shown, surface.clientWidth, HEIGHT))
      surface.setAttribute('aria-valuenow', client.counts[cursor])
      surface.setAttribute(
        'aria-valuetext',
        `${duration((page.state.span / COLUMNS) * cursor)}: ${client.counts[cursor]}`,
      )
    }

    return { surface, draw }
  }

  /** The clients, and what paints for them. */
  function traffic(page) {
    const { state } = page
    const amount = make('input', { type: 'range', min: 1, max: MOST, value: page.amount, 'aria-label': 'Amount' })
    amount.style.setProperty('--pg-part', `${((page.amount - 1) / (MOST - 1)) * 100}%`)
    const fill = (pattern) => {
      const client = state.clients.find(({ name }) => name === page.active) ?? state.clients[0]
      page.pattern = pattern
      client.counts.splice(0, COLUMNS, ...empty().map((_, column) => Math.min(MOST, pattern(column, page.amount))))
      page.changed()
    }
    amount.addEventListener('input', () => {
      page.amount = Number(amount.value)
      amount.style.setProperty('--pg-part', `${((page.amount - 1) / (MOST - 1)) * 100}%`)
      if (page.pattern) fill(page.pattern)
    })
    const button = (words, onclick, more = {}) =>
      make('button', { type: 'button', class: 'pg-button', onclick, ...more }, words)
    const patterns = Object.entries(PATTERNS).map(([name, pattern]) => button(name, () => fill(pattern)))
    const span = make(
      'select',
      {
        'aria-label': 'Length of the time line',
        onchange: () => {
          state.span = Number(span.value)
          page.changed()
        },
      },
      ...SPANS.map((ms) => make('option', { value: ms, selected: ms === state.span }, duration(ms))),
    )
    const lines = state.clients.map((client) => line(page, client))
    const free = NAMES.find((name) => state.clients.every((client) => client.name !== name))
    const rows = state.clients.map((client, index) =>
      make(
        'div',
        { class: 'pg-client' },
        make(
          'div',
          { class: 'pg-row pg-client-head' },
          make(
            'button',
            {
              type: 'button',
              class: 'pg-client-name',
              'aria-pressed': client.name === page.active,
              title: 'Patterns fill the line of this client',
              onclick: () => page.activate(client.name),
            },
            client.name,
          ),
          ...(state.clients.length > 1
            ? [button('✕', () => page.leave(index), { 'aria-label': `Remove ${client.name}` })]
            : []),
        ),
        lines[index].surface,
      ),
    )
    const element = make(
      'section',
      { class: 'pg-traffic', 'aria-label': 'Requests' },
      make(
        'div',
        { class: 'pg-row' },
        make(
          'span',
          { class: 'pg-group' },
          ...patterns,
          button('Clear', () => fill(() => 0)),
        ),
        make('label', { class: 'pg-amount' }, 'Amount', amount),
        make('label', { class: 'pg-span' }, 'in ', span),
        ...(free ? [button('+ client', () => page.join(free))] : []),
      ),
      ...rows,
    )
    return {
      element,
      draw: () => {
        for (const { draw } of lines) draw()
        for (const row of rows) {
          const name = row.querySelector('.pg-client-name')
          name.setAttribute('aria-pressed', name.textContent === page.active)
        }
      },
    }
  }

  function run(engine, root) {
    let [cards, requests, isDue] = [[], undefined, false]

    /** Writes the link soon: a browser ignores those who write it with each move of a pointer. */
    function keep() {
      if (isDue) return
      isDue = true
      setTimeout(() => {
        isDue = false
        history.replaceState(null, '', `${location.pathname}#${written(page.state)}`)
      }, 100)
    }

    function show({ name, column, row } = {}) {
      page.state.chosen = name && { name, column, row }
      for (const { result } of cards) result()
    }

    const page = {
      state: undefined,
      active: undefined,
      pattern: undefined,
      amount: 4,
      language: 'Python',
      change(index, text) {
        page.state.limits[index] = text
        page.changed()
      },
      choose(request) {
        show(request)
        keep()
      },
      activate(name) {
        page.active = name
        page.pattern = undefined
        requests.draw()
      },
      remove(index) {
        page.state.limits.splice(index, 1)
        page.rebuilt()
      },
      compare() {
        page.state.limits.push(page.state.limits[0])
        page.rebuilt()
      },
      join(name) {
        page.state.clients.push({ name, counts: empty().map((_, column) => (column % 6 === 2 ? 1 : 0)) })
        page.active = name
        page.rebuilt()
      },
      leave(index) {
        page.state.clients.splice(index, 1)
        page.active = page.state.clients[0].name
        page.rebuilt()
      },
      /** Keeps the state in the link, and shows it. */
      changed() {
        page.redraw()
        keep()
      },
      rebuilt() {
        page.build()
        page.changed()
      },
      redraw() {
        requests.draw()
        const [first] = cards.map(({ refresh }) => refresh())
        const known = first.requests.some(
          ({ name, column, row }) =>
            name === page.state.chosen?.name && column === page.state.chosen.column && row === page.state.chosen.row,
        )
        if (!known) show(first.requests.find(({ blocked }) => blocked) ?? first.requests[0])
      },
      build() {
        requests = traffic(page)
        cards = page.state.limits.map((_, index) => card(engine, page, index))
        const compare = make(
          'button',
          { type: 'button', class: 'pg-button', onclick: page.compare },
          'Compare with another limit',
        )
        const link = copying(
          'Copy the link to this',
          () => `${location.href.replace(/[?#].*/s, '')}#${written(page.state)}`,
        )
        root.replaceChildren(
          requests.element,
          make('div', { class: 'pg-cards' }, ...cards.map(({ element }) => element)),
          make('div', { class: 'pg-row' }, ...(cards.length < 2 ? [compare] : []), link),
        )
      },
      /** Takes over the state of the link. */
      opened() {
        page.state = read(location.hash.slice(1) || location.search.slice(1))
        page.active = page.state.clients[0].name
        page.build()
        page.redraw()
      },
    }
    page.opened()
    addEventListener('hashchange', page.opened)
    let width = root.clientWidth
    new ResizeObserver(() => {
      if (root.clientWidth === width) return
      width = root.clientWidth
      page.redraw()
    }).observe(root)
    root.dataset.ready = 'true'
    Object.assign(playground, { page, engine })
  }

  const root = document.querySelector('.playground')
  playground.start().then(
    (engine) => run(engine, root),
    (error) =>
      root.replaceChildren(
        make('p', {}, `The playground needs WebAssembly, which did not start here: ${error.message}`),
      ),
  )
})()
