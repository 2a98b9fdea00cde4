// Elements without markup: nothing that a model or a file says is ever parsed as elements of HTML.

type Attributes = Record<string, string | number | boolean | undefined | ((e: Event) => void)>;
export type Child = Node | string | undefined | false;

/** Makes an element; `on…` attributes are listeners, false and undefined ones are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes?: Attributes | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') {
      e.addEventListener(name.slice(2), value as EventListener);
    } else if (value === true) {
      e.setAttribute(name, '');
    } else if (value !== undefined && value !== false) {
      e.setAttribute(name, String(value));
    }
  }
  e.append(...children.filter((c): c is Node | string => c !== undefined && c !== false));
  return e;
}

export function icon(name: string): HTMLElement {
  return h('span', { class: `icon icon-${name}`, 'aria-hidden': 'true' });
}

export function button(label: string, run: () => void, more: Attributes = {}): HTMLButtonElement {
  return h('button', { type: 'button', onclick: run, ...more }, label);
}

export function iconButton(name: string, label: string, run: () => void, more: Attributes = {}): HTMLButtonElement {
  return h('button', { type: 'button', class: 'bare', title: label, 'aria-label': label, onclick: run, ...more }, icon(name));
}
