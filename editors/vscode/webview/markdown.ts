// Draws Markdown that may still be growing. Blocks whose source did not change keep their elements, so nothing
// flickers and a selection in what is finished stays.

import type { Token, Tokens } from 'marked';
import { h, iconButton } from './dom.ts';
import { highlight } from './highlight.ts';
import { post } from './host.ts';
import { lex } from './lex.ts';

/** Text above this size is lexed anew from its last blocks only, while it grows. */
const LONG = 8 * 1024;

export class Markdown {
  readonly element = h('div', { class: 'markdown' });
  private blocks: { raw: string; node: Node }[] = [];
  private length = 0;

  /** Shows text; while it is `open` more of it may come. */
  update(text: string, open: boolean): void {
    let kept = 0;
    let from = 0;
    if (open && text.length > LONG && text.length >= this.length) {
      kept = Math.max(this.blocks.length - 2, 0);
      from = this.blocks.slice(0, kept).reduce((n, b) => n + b.raw.length, 0);
    }
    this.length = text.length;
    const tokens = lex(text.slice(from));
    for (const [i, token] of tokens.entries()) {
      const at = kept + i;
      const old = this.blocks[at];
      if (old?.raw === token.raw) {
        continue;
      }
      const node = block(token);
      if (old) {
        this.element.replaceChild(node, old.node);
        this.blocks[at] = { raw: token.raw, node };
      } else {
        this.element.append(node);
        this.blocks.push({ raw: token.raw, node });
      }
    }
    for (const b of this.blocks.splice(kept + tokens.length)) {
      b.node.parentNode?.removeChild(b.node);
    }
  }
}

/** Draws Markdown that is whole. */
export function markdown(text: string): HTMLElement {
  const m = new Markdown();
  m.update(text, false);
  return m.element;
}

function block(t: Token): Node {
  switch (t.type) {
    case 'heading':
      // A chat has no outline of its own: the largest heading of an answer is the third level of the page.
      return h(`h${Math.min(t.depth + 2, 6)}` as 'h3', null, ...inlines(t.tokens));
    case 'paragraph':
      return h('p', null, ...inlines(t.tokens));
    case 'text':
      return t.tokens ? h('span', null, ...inlines(t.tokens)) : document.createTextNode(t.text);
    case 'code':
      return code(t.text, t.lang ?? '');
    case 'blockquote':
      return h('blockquote', null, ...blocks(t.tokens));
    case 'list': {
      const items = (t as Tokens.List).items.map((item) => h('li', item.task ? { class: 'task' } : null, ...blocks(item.tokens)));
      return t.ordered ? h('ol', { start: t.start || 1 }, ...items) : h('ul', null, ...items);
    }
    case 'table': {
      const table = t as Tokens.Table;
      const cell = (tag: 'th' | 'td') => (c: Tokens.TableCell) =>
        h(tag, c.align ? { class: `align-${c.align}` } : null, ...inlines(c.tokens));
      return h(
        'div',
        { class: 'table' },
        h(
          'table',
          null,
          h('thead', null, h('tr', null, ...table.header.map(cell('th')))),
          h('tbody', null, ...table.rows.map((r) => h('tr', null, ...r.map(cell('td'))))),
        ),
      );
    }
    case 'hr':
      return h('hr');
    case 'space':
    case 'def':
      return document.createComment('');
    case 'html':
      return html(t.raw);
    default:
      return inline(t);
  }
}

/** A block of HTML as it was written, without comments and without the frame of a part that can be folded. */
function html(raw: string): Node {
  const text = raw.replace(/<!--[\s\S]*?-->|<\/?details[^>]*>/gi, '').trim();
  const folded = /^<summary>([\s\S]*?)<\/summary>/i.exec(text);
  if (folded) {
    return h('div', null, h('p', null, h('strong', null, folded[1]?.trim())), ...blocks(lex(text.slice(folded[0].length).trim())));
  }
  return text ? h('p', null, text) : document.createComment('');
}

function blocks(tokens: Token[] | undefined): Node[] {
  return (tokens ?? []).map(block);
}

/** Elements of HTML for which Markdown has no sign of its own. Every other tag is text: `Vec<String>` stays as it is. */
const ELEMENTS = /^<(kbd|sub|sup)>$/i;

function inlines(tokens: Token[] = []): Node[] {
  const out: Node[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as Token;
    const name = token.type === 'html' && ELEMENTS.exec(token.raw)?.[1]?.toLowerCase();
    const end = name ? tokens.findIndex((t, at) => at > i && t.raw.toLowerCase() === `</${name}>`) : -1;
    if (end > 0) {
      out.push(h(name as 'kbd', null, ...inlines(tokens.slice(i + 1, end))));
      i = end;
    } else {
      out.push(inline(token));
    }
  }
  return out;
}

function inline(t: Token): Node {
  switch (t.type) {
    case 'strong':
      return h('strong', null, ...inlines(t.tokens));
    case 'em':
      return h('em', null, ...inlines(t.tokens));
    case 'del':
      return h('del', null, ...inlines(t.tokens));
    case 'codespan': {
      const place = placeIn(t.text);
      return place ? fileLink(place.path, place.line, h('code', null, t.text)) : h('code', null, t.text);
    }
    case 'br':
      return h('br');
    case 'checkbox':
      return h('input', { type: 'checkbox', disabled: true, checked: (t as Tokens.Checkbox).checked });
    case 'html':
      return /^<br\s*\/?>$/i.test(t.raw) ? h('br') : document.createTextNode(t.raw.startsWith('<!--') ? '' : t.raw);
    case 'link':
      return link(t.href, inlines(t.tokens));
    case 'image':
      return link(t.href, [document.createTextNode(t.text || t.href)]);
    case 'text':
      return t.tokens ? h('span', null, ...inlines(t.tokens)) : document.createTextNode(unescaped(t));
    case 'escape':
      return document.createTextNode(unescaped(t));
    default:
      return document.createTextNode(t.raw);
  }
}

/**
 * The text of a token with its character references (`&lt;`) read; the lexer leaves them to the HTML that others make of
 * its tokens, and escapes some tokens for it.
 */
function unescaped(t: Token): string {
  if (t.type === 'escape') {
    return t.raw.slice(1);
  }
  const text = 'escaped' in t && t.escaped ? t.raw : ((t as Tokens.Text).text ?? t.raw);
  return text.replace(/&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/gi, character);
}

/** One character reference as text. Only a browser knows all their names; within this element it knows nothing else. */
function character(reference: string): string {
  const e = h('textarea');
  e.innerHTML = reference;
  return e.value;
}

function link(href: string, children: Node[]): Node {
  if (/^(https?|mailto):/i.test(href)) {
    return h('a', { href, title: href }, ...children);
  }
  const place = placeIn(decoded(href.replace(/^file:\/\//, '').replace(/#L(\d+).*$/, ':$1')), true);
  return place ? fileLink(place.path, place.line, ...children) : h('span', null, ...children);
}

function decoded(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

/** A path, perhaps with a line: with a folder, a line or an ending of a file, so that plain words are none. */
export function placeIn(text: string, sure = false): { path: string; line?: number } | undefined {
  const m = /^((?:\/|\.{1,2}\/|[A-Za-z]:[\\/])?[\w@.+~-]+(?:[\\/][\w@.+~ -]+)*)(?::(\d+)(?:[:-]\d+)*)?$/.exec(text);
  const path = m?.[1];
  if (!path || (!sure && !(m[2] && path.includes('.')) && !(/[\\/]/.test(path) && /\.\w{1,8}$/.test(path)))) {
    return undefined;
  }
  return { path, line: m[2] ? Number(m[2]) : undefined };
}

export function fileLink(path: string, line: number | undefined, ...children: (Node | string)[]): HTMLElement {
  return h(
    'a',
    {
      href: '#',
      class: 'file',
      title: line ? `${path}:${line}` : path,
      onclick: (e) => {
        e.preventDefault();
        e.stopPropagation();
        post({ type: 'open', path, line });
      },
    },
    ...children,
  );
}

function code(text: string, info: string): HTMLElement {
  const language = info.split(/[\s{:,]/, 1)[0] ?? '';
  const copy = iconButton('copy', 'Copy', () => {
    post({ type: 'copy', text });
    copy.classList.add('done');
    setTimeout(() => copy.classList.remove('done'), 1500);
  });
  return h(
    'div',
    { class: 'code' },
    h(
      'div',
      { class: 'code-head' },
      h('span', null, language),
      iconButton('insert', 'Insert at the cursor', () => post({ type: 'insert', text })),
      copy,
    ),
    h('pre', { tabindex: 0 }, h('code', null, highlight(text, language))),
  );
}
