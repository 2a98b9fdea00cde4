// The settings of a person, as the server takes them.

/** What VS Code knows of one setting; the shape of WorkspaceConfiguration.inspect. */
export interface Inspected {
  globalValue?: unknown;
  workspaceValue?: unknown;
  workspaceFolderValue?: unknown;
}

/** A setting as package.json declares it. */
export interface Declared {
  scope?: string;
}

/** Settings that are for the extension alone. */
const OWN = new Set(['path', 'env', 'shareEditor']);

/**
 * The values that the person has set, as a tree: those of the user, of the machine or of a profile, and never those that come with a
 * workspace or a folder, which a repository can bring. Defaults are left out, so that the server's own files count beneath.
 * `declared` has the settings by their names below "tandem.".
 */
export function explicit(
  declared: Record<string, Declared>,
  inspect: (name: string) => Inspected | undefined,
): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const name of Object.keys(declared)) {
    const value = OWN.has(name) ? undefined : inspect(name)?.globalValue;
    if (value === undefined) {
      continue;
    }
    const path = name.split('.');
    let node = tree;
    for (const part of path.slice(0, -1)) {
      node = (node[part] ??= {}) as Record<string, unknown>;
    }
    node[path.at(-1)!] = value;
  }
  return tree;
}

/** The settings that package.json declares, by their names below "tandem.". */
export function declaredIn(packageJSON: {
  contributes?: { configuration?: { properties?: Record<string, Declared> }[] };
}): Record<string, Declared> {
  const out: Record<string, Declared> = {};
  for (const group of packageJSON.contributes?.configuration ?? []) {
    for (const [name, setting] of Object.entries(group.properties ?? {})) {
      out[name.replace(/^tandem\./, '')] = setting;
    }
  }
  return out;
}
