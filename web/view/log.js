// The turns of a conversation. Their end stays in sight, unless the reader has scrolled up.

import { useEffect, useLayoutEffect, useRef, useState } from '../vendor/hooks.js';
import { begun, current, openQuestions } from '../model/chat.js';
import { counted, texts } from '../words.js';
import { Card } from './card.js';
import { h } from './h.js';
import { Icon } from './icon.js';
import { TurnView } from './turn.js';

const page = 20; // turns at first, and for each further click

export function Log() {
  const conversation = current.value;
  const all = conversation.turns.value;
  const [first, setFirst] = useState(() => Math.max(0, all.length - page)); // that is drawn
  const [latest, setLatest] = useState(-1); // turns begun when the reader left the end; -1: the end is in sight
  const log = useRef(/** @type {HTMLElement | null} */ (null));
  const col = useRef(/** @type {HTMLElement | null} */ (null));
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  const isPinned = useRef(true);
  const toEnd = () => end.current?.scrollIntoView({ block: 'end' });
  useEffect(() => {
    if (!log.current || !end.current || !col.current) return;
    const seen = new IntersectionObserver(([entry]) => {
      isPinned.current = entry.isIntersecting;
      setLatest(entry.isIntersecting ? -1 : begun.peek());
    }, { root: log.current, rootMargin: '0px 0px 80px 0px' });
    const grown = new ResizeObserver(() => { if (isPinned.current) toEnd(); });
    seen.observe(end.current);
    grown.observe(col.current);
    grown.observe(log.current);
    return () => { seen.disconnect(); grown.disconnect(); };
  }, []);
  useLayoutEffect(() => {
    isPinned.current = true;
    toEnd();
  }, [conversation, all.at(-1)?.key]);
  const from = Math.min(first, Math.max(0, all.length - 1));
  const inTurns = new Set(all.flatMap((t) => (t.record ? t.approvals.map((a) => a.approval_id) : [])));
  const apart = openQuestions(conversation).filter((q) => !inTurns.has(q.approval.approval_id));
  const news = begun.value - latest;
  return h('div', { class: 'log-frame' },
    h('div', { class: 'log', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off', tabindex: 0, ref: log, id: 'log' }, h('div', { class: 'col', ref: col, id: 'turns' },
      from > 0 ? h('button', { type: 'button', class: 'earlier', 'data-testid': 'earlier', onClick: () => { isPinned.current = false; setFirst(Math.max(0, from - page)); } }, `Show ${counted(Math.min(from, page), 'earlier turn')}`) : null,
      conversation.isMissing.value ? h('p', { class: 'soft', 'data-testid': 'missing' }, texts.notKept) : null,
      all.slice(from).map((turn, i, list) => h(TurnView, { key: turn.key, turn, isLast: i === list.length - 1, goesOn: list[i + 1]?.continues === true })),
      apart.map((question) => h(Card, { key: question.approval.approval_id, question, conversation, workflow: '' })),
      h('div', { class: 'end', ref: end, 'aria-hidden': 'true' }))),
    latest >= 0 ? h('button', { type: 'button', class: 'latest', onClick: () => { isPinned.current = true; toEnd(); } }, h(Icon, { name: 'arrow-down', small: true }), news > 0 ? `Latest (${news})` : 'Latest') : null);
}
