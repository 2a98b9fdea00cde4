// What stands where no conversation is yet: how to begin, or what is missing.

import type { Setup } from '../src/chat/messages.ts';
import type { Earlier, Kept } from '../src/chat/sessions.ts';
import type { Conversation } from '../src/chat/state.ts';
import { type Child, button, h, icon } from './dom.ts';
import { post } from './host.ts';

const EMBEDDED = 'script/embedded';

const SUGGESTIONS = [
  { icon: 'search', text: 'Explain how this project is organised' },
  { icon: 'bug', text: 'Find mistakes in the file that I have open' },
  { icon: 'beaker', text: 'Write tests for the code that I changed last' },
];

export function welcome(c: Conversation, setup: Setup, fill: (text: string) => void): Node {
  const act = (label: string, what: 'setApiKey' | 'openSettings' | 'showLog' | 'restart', query?: string, first = false) =>
    button(label, () => post({ type: 'do', what, query }), { class: first ? 'primary' : 'secondary' });
  if (setup.backend === 'missing' || setup.backend === 'failed') {
    const missing = setup.backend === 'missing';
    return page(
      missing ? 'The tandem program is missing' : 'Tandem could not start',
      h('p', null, setup.failure ?? ''),
      h(
        'div',
        { class: 'buttons' },
        act('Choose the Program…', 'openSettings', 'tandem.path', missing),
        act('Try Again', 'restart', undefined, !missing),
        act('Show Log', 'showLog'),
      ),
    );
  }
  if (setup.backend !== 'running') {
    return page('Tandem', h('p', { class: 'quiet' }, setup.backend === 'starting' ? 'Starting…' : 'Not running.'),
      setup.backend === 'stopped' && h('div', { class: 'buttons' }, act('Start', 'restart', undefined, true)));
  }
  if (setup.refused !== undefined) {
    return page(
      'No model to talk to',
      h('p', null, setup.refused),
      h(
        'div',
        { class: 'buttons' },
        act('Set API Key…', 'setApiKey', undefined, true),
        act('Choose a Model', 'openSettings', 'tandem.model'),
        act('Try Again', 'restart'),
      ),
    );
  }
  return page(
    'Work on this code together',
    h('p', { class: 'quiet' }, 'Tandem edits the files that you are typing in, and what you type stays.'),
    c.model === EMBEDDED &&
      h(
        'div',
        { class: 'callout', role: 'note' },
        h('strong', null, 'No model is set up yet'),
        h(
          'p',
          null,
          'Until then the embedded script model answers. It understands nothing of what you ask; it lists your workspace, or reads a file that you name with @, to show that everything works. It needs no network.',
        ),
        h(
          'div',
          { class: 'buttons' },
          act('Set API Key…', 'setApiKey', undefined, true),
          act('Use a Local Model', 'openSettings', 'tandem.model'),
        ),
      ),
    setup.earlier && earlier(setup.earlier),
    !setup.trusted && h('div', { class: 'callout', role: 'note' }, 'This workspace is not trusted: Tandem only reads.'),
    h(
      'div',
      { class: 'suggest', role: 'list', 'aria-label': 'Suggestions' },
      ...SUGGESTIONS.map((s) =>
        h('div', { role: 'listitem' }, h('button', { type: 'button', onclick: () => fill(s.text) }, icon(s.icon), s.text)),
      ),
    ),
    setup.sessions && setup.sessions.length > 0 && sessions(setup.sessions),
  );
}

/** What there is to say of an earlier session, with the way to it. */
function earlier({ text, id, busy }: Earlier): Node {
  const back = id !== undefined && button(busy ? 'Try Again' : 'Back to It', () => post({ type: 'load', id }), { class: 'secondary' });
  return h('div', { class: 'callout earlier', role: 'note' }, text, back && h('div', { class: 'buttons' }, back));
}

function sessions(all: readonly Kept[]): Node {
  return h(
    'div',
    { class: 'sessions' },
    h('h3', null, 'Earlier sessions'),
    h(
      'ul',
      null,
      ...all.map((s) =>
        h(
          'li',
          null,
          h('button', { type: 'button', title: `Resume “${s.title}”`, onclick: () => post({ type: 'load', id: s.id }) },
            h('span', { class: 'what' }, s.title), h('span', { class: 'detail' }, s.detail)),
        ),
      ),
    ),
    button('All Sessions…', () => post({ type: 'do', what: 'sessions' }), { class: 'link' }),
  );
}

function page(title: string, ...children: Child[]): Node {
  return h('div', { class: 'welcome' }, h('div', { class: 'logo', 'aria-hidden': 'true' }), h('h2', null, title), ...children);
}
