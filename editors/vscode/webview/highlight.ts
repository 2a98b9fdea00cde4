// Colours of code. Only elements with classes are made; the colours are the theme's.

import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import lua from 'highlight.js/lib/languages/lua';
import makefile from 'highlight.js/lib/languages/makefile';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/bash';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import { h } from './dom.ts';

const lowlight = createLowlight({
  c, cpp, csharp, css, diff, go, ini, java, javascript, json, kotlin, lua, makefile, php, python, ruby, rust, shell,
  sql, swift, typescript, xml, yaml,
});

/** Above this many characters code is shown plain. */
const MOST = 50_000;

interface Tree {
  type: string;
  value?: string;
  properties?: { className?: string[] };
  children?: Tree[];
}

export function highlight(code: string, language: string): Node {
  if (code.length > MOST || !lowlight.registered(language)) {
    return document.createTextNode(code);
  }
  const fragment = document.createDocumentFragment();
  fragment.append(...nodes((lowlight.highlight(language, code) as Tree).children));
  return fragment;
}

function nodes(children: Tree[] | undefined): (Node | string)[] {
  return (children ?? []).map((n) =>
    n.type === 'text' ? (n.value ?? '') : h('span', { class: n.properties?.className?.join(' ') }, ...nodes(n.children) as Node[]),
  );
}
