// Keys of model services, in VS Code's secret storage.

import * as vscode from 'vscode';
import { keyVariable, type KeyVariable, type Providers, services, withVariables } from './keyvariables.ts';
import { storedKeys } from './storedkeys.ts';

const STORED = 'tandem.keys';

export class Keys {
  constructor(
    private readonly secrets: vscode.SecretStorage,
    private readonly tell: (text: string) => void,
    /** The variables that the server reads keys from, by its whole configuration: a person's own file names some too. */
    private readonly variables: () => Promise<KeyVariable[]>,
  ) {}

  /** All keys, by environment variable. Where they cannot be read there are none, and the person is told. */
  async all(): Promise<Record<string, string>> {
    return storedKeys(() => this.secrets.get(STORED), this.tell);
  }

  /** Asks for a key; an empty one forgets. Gives what keeps it, where anything is another than before. */
  async ask(): Promise<(() => Promise<void>) | undefined> {
    const settings = vscode.workspace.getConfiguration('tandem');
    const providers = withVariables(settings.get<Providers>('providers', {}), await this.variables());
    const keys = await this.all();
    const picked = await vscode.window.showQuickPick(
      services(settings.get('model', ''), providers).map((name) => {
        const variable = keyVariable(name, providers);
        const detail = keys[variable] ? 'A key is saved.' : process.env[variable] ? 'Set in the environment.' : '';
        return { label: name, description: variable, detail, variable };
      }),
      { title: 'Tandem: Set API Key', placeHolder: 'Service for the key' },
    );
    if (!picked) {
      return undefined;
    }
    const key = await vscode.window.showInputBox({
      title: `Tandem: Key of ${picked.label}`,
      prompt: `Saved in secret storage and passed to the server as ${picked.variable}. Leave empty to delete the saved key.`,
      password: true,
      ignoreFocusOut: true,
    });
    if (key === undefined || (key === '' && !keys[picked.variable])) {
      return undefined;
    }
    if (key.trim() === '') {
      delete keys[picked.variable];
    } else {
      keys[picked.variable] = key.trim();
    }
    return async () => {
      await this.secrets.store(STORED, JSON.stringify(keys));
      const own = settings.inspect<Providers>('providers')?.globalValue;
      const service = own?.[picked.label];
      if (key && service && !service.apiKeyEnv) {
        // The server has no name of its own for the key of a service that somebody has set up.
        const named = { ...own, [picked.label]: { ...service, apiKeyEnv: picked.variable } };
        await settings.update('providers', named, vscode.ConfigurationTarget.Global);
      }
    };
  }
}
