// The live parts of the pages. Everything can be read without it.

const style = getComputedStyle(document.documentElement);

/** @param {string} tone a colour of console.css, which differs in light and dark */
const colour = (tone) => {
  const probe = document.createElement('span');
  probe.style.color = `var(--${tone})`;
  // Where somebody has colours of their own, all would be the same.
  probe.style.forcedColorAdjust = 'none';
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

// Plots

/** By the id of their element. */
const plots = new Map();

/** Lines of a plot by their place: whoever does not see colours tells them apart too. */
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3]];
const BORDERS = ['solid', 'dashed', 'dotted', 'double'];

function draw(element, { series, data }) {
  const size = () => ({
    width: element.clientWidth,
    height: Math.round(Number.parseFloat(style.fontSize) * 10.5),
  });
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  const font = `${Math.round(Number.parseFloat(style.fontSize) * 0.75)}px ${getComputedStyle(document.body).fontFamily}`;
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });
  const options = {
    ...size(),
    cursor: { y: false },
    legend: { live: true, markers: { dash: (_, n) => BORDERS[(n - 1) % BORDERS.length] } },
    // An hour, whether it has been seen or not: the plots can be compared.
    scales: {
      x: { range: (_, __, max) => [(max ?? Date.now() / 1_000) - 3_600, max ?? Date.now() / 1_000] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.15 : 1] },
    },
    axes: [
      { ...axis, font, values: (_, times) => times.map((at) => clock.format(at * 1_000)) },
      { ...axis, font, size: 52 },
    ],
    series: [
      { label: 'at' },
      ...series.map(({ name, tone }, n) => ({
        label: name,
        stroke: colour(tone),
        dash: DASHES[n % DASHES.length],
        width: 1.6,
        points: { show: false },
        spanGaps: false,
        value: (_, value) => String(value ?? '–'),
      })),
    ],
  };
  element.replaceChildren();
  const plot = new window.uPlot(options, data, element);
  plots.set(element.id, plot);
  new ResizeObserver(() => plot.setSize(size())).observe(element);
}

function drawAll() {
  for (const element of document.querySelectorAll('[data-plot]')) {
    const given = JSON.parse(element.dataset.plot);
    draw(element, { ...given, data: plots.get(element.id)?.data ?? given.data });
  }
}

/** 53 kB, which pages without plots do not need. */
async function loadPlots() {
  const load = (name, attributes) =>
    new Promise((resolve, reject) => {
      const element = Object.assign(document.createElement(name), attributes);
      element.onload = resolve;
      element.onerror = reject;
      document.head.append(element);
    });
  await Promise.all([
    load('link', { rel: 'stylesheet', href: '/assets/uPlot.min.css' }),
    load('script', { src: '/assets/uPlot.iife.min.js' }),
  ]);
  drawAll();
  // The colours are others then.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
}

// Updates

const FOCUSABLE = 'a, button, input, select, textarea, summary, [tabindex]';

function apply({ id, html, how = 'replace', keep, plot }) {
  if (plot) plots.get(id)?.setData(plot);
  const element = document.getElementById(id);
  if (html === undefined || !element) return;
  if (how === 'prepend') {
    element.insertAdjacentHTML('afterbegin', html);
    while (keep !== undefined && element.children.length > keep) element.lastElementChild.remove();
  } else {
    // Whoever works in it goes on where they were: at what has the same id, address, name or words.
    const focused = document.activeElement;
    const { scrollLeft } = focused;
    const nameOf = (one) => one.id || one.href || one.ariaLabel || one.textContent;
    // Where the focus is elsewhere, it is mostly on the whole page: its words are many.
    const name = element.contains(focused) ? nameOf(focused) : undefined;
    // Of several with one name: the latest comes first, so they are counted from the end.
    const same = () =>
      [...(document.getElementById(id)?.querySelectorAll(FOCUSABLE) ?? [])]
        .filter((one) => nameOf(one) === name)
        .reverse();
    const which = same().indexOf(focused);
    const unfolded = [...element.querySelectorAll('details[id][open]')].map((one) => one.id);
    element.outerHTML = html;
    for (const one of unfolded) document.getElementById(one)?.setAttribute('open', '');
    const again = which < 0 ? [] : same();
    const now = again[which] ?? again.at(-1);
    now?.focus({ preventScroll: true });
    if (now) now.scrollLeft = scrollLeft;
  }
  offerCopies();
}

/** The console sends a beat every 15 s. */
const SILENT_MS = 35_000;
/** What is wrong for long is asked about less often. */
const WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;

function follow() {
  const state = document.createElement('span');
  state.className = 'live-state';
  state.setAttribute('role', 'status');
  document.querySelector('header').append(state);
  for (const text of document.querySelectorAll('[data-if-live]')) text.hidden = false;
  const say = (text, isLost) => {
    if (state.textContent !== text) state.textContent = text;
    state.classList.toggle('lost', isLost);
    document.body.classList.toggle('stale', isLost);
  };
  let events;
  let lost;
  let again;
  let wait = WAIT_MS;
  let beat = 0;
  const lose = () => say('Out of date: the console does not answer', true);
  const loseIn = (ms) => {
    lost ??= setTimeout(lose, ms);
  };
  const hear = () => {
    beat = Date.now();
    clearTimeout(lost);
    lost = undefined;
    wait = WAIT_MS;
    say('live', false);
  };
  const close = () => {
    events?.close();
    clearTimeout(again);
  };
  const later = (reason) => {
    close();
    clearTimeout(lost);
    lost = undefined;
    if (reason) say(`Out of date: ${reason}`, true);
    else lose();
    again = setTimeout(open, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  };
  const ask = async () => {
    const { message, isLogin } = await refusal();
    // Another one has been opened, or the page is hidden.
    if (events.readyState !== EventSource.CLOSED || document.hidden) return;
    if (isLogin) return location.reload();
    later(message);
  };
  function open() {
    close();
    // A browser has six connections to one address, for all its windows.
    if (document.hidden) return;
    beat = Date.now();
    // Only what arrives says that updates do: the answer begins before the console knows whether it can read them.
    loseIn(10_000);
    events = new EventSource(location.href);
    events.addEventListener('beat', hear);
    events.addEventListener('failed', ({ data }) => later(JSON.parse(data)));
    events.onmessage = ({ data }) => {
      hear();
      apply(JSON.parse(data));
    };
    events.onerror = () => {
      // A connection that ends is made again within a second or two.
      loseIn(4_000);
      if (events.readyState === EventSource.CLOSED) ask();
    };
  }
  open();
  document.addEventListener('visibilitychange', () => {
    clearTimeout(lost);
    lost = undefined;
    if (document.hidden) close();
    else open();
  });
  // A connection can be dead without an end: a stopped process, a network that is gone.
  setInterval(
    () => events?.readyState === EventSource.OPEN && Date.now() - beat > SILENT_MS && lose(),
    1_000,
  );
}

/** Why this user gets no updates of this page now, where it can be known, and whether they have to log in. */
async function refusal() {
  const leaving = new AbortController();
  const get = (url) =>
    fetch(url, { headers: { accept: 'text/event-stream' }, redirect: 'manual', signal: leaving.signal });
  const isRedirect = ({ type }) => type === 'opaqueredirect';
  try {
    const answer = await get(location.href);
    // Of a proxy that logs users in.
    if (isRedirect(answer)) return { isLogin: true };
    if (!answer.headers.get('content-type')?.startsWith('application/json')) return {};
    const { message } = await answer.json();
    if (answer.status !== 401) return { message };
    // Where the provider does not answer, the page would be lost.
    return { message, isLogin: isRedirect(await get('/login')) };
  } catch {
    return {};
  } finally {
    leaving.abort();
  }
}

// Forms, copying, and files that go into a text field

/** Then somebody who clicks again means it: the answer may be lost. */
const ANSWERED_MS = 10_000;

/** A second click, or a double one, would send a second command while the first one is answered. */
function sendOnce() {
  document.addEventListener('submit', (event) => {
    const { target: form } = event;
    if (form.method !== 'post') return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = 'true';
    setTimeout(() => delete form.dataset.sent, ANSWERED_MS);
  });
  // The page as it was left, which the browser has kept.
  window.addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
  });
}

const COPIED_MS = 3_000;

function offerCopies() {
  for (const button of document.querySelectorAll('button[data-copy][hidden]')) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    // A screen reader says what it becomes.
    button.ariaLive = 'polite';
    const { textContent: name } = button;
    button.addEventListener('click', async () => {
      button.textContent = await navigator.clipboard.writeText(button.dataset.copy).then(
        () => 'Copied',
        () => 'Not copied: select the text',
      );
      setTimeout(() => {
        button.textContent = name;
      }, COPIED_MS);
    });
  }
}

function offerFiles() {
  for (const input of document.querySelectorAll('input[type=file][data-into]')) {
    input.closest('[hidden]')?.removeAttribute('hidden');
    input.addEventListener('change', async () => {
      const [file] = input.files;
      if (file) document.getElementById(input.dataset.into).value = await file.text();
    });
  }
}

function start() {
  sendOnce();
  offerCopies();
  offerFiles();
  if (document.body.dataset.live) follow();
  if (document.querySelector('[data-plot]')) loadPlots();
}

// After the first paint, which a script that runs before it delays. What is hidden is not painted.
if (document.hidden) start();
else requestAnimationFrame(() => setTimeout(start));
