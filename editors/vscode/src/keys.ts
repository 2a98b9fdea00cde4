// Keys of model services, in VS Code's secret storage.

import * as vscode from 'vscode';
import { storedKeys } from './storedkeys.ts';

const STORED = 'tandem.keys';

/** The environment variable that the server reads a provider's key from. */
export function keyVariable(provider: string, providers: Record<string, { apiKeyEnv?: string }>): string {
  return providers[provider]?.apiKeyEnv || `${provider.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`;
}

const HOSTED = ['anthropic', 'openai', 'deepseek', 'openrouter'];

/** The services that may want a key: that of the model first, then what is set up, then what is known. */
export function services(model: string, providers: Record<string, { apiKeyEnv?: string }>): string[] {
  const named = /^([^/:]+)\//.exec(model)?.[1];
  return [...new Set([...(named ? [named] : []), ...Object.keys(providers), ...HOSTED])];
}

export class Keys {
  constructor(
    private readonly secrets: vscode.SecretStorage,
    private readonly tell: (text: string) => void,
  ) {}

  /** All keys, by environment variable. Where they cannot be read there are none, and the person is told. */
  async all(): Promise<Record<string, string>> {
    return storedKeys(() => this.secrets.get(STORED), this.tell);
  }

  /** Asks for a key; an empty one forgets. Gives what keeps it, where anything is another than before. */
  async ask(): Promise<(() => Promise<void>) | undefined> {
    const settings = vscode.workspace.getConfiguration('tandem');
    const providers = settings.get<Record<string, { apiKeyEnv?: string }>>('providers', {});
    const keys = await this.all();
    const picked = await vscode.window.showQuickPick(
      services(settings.get('model', ''), providers).map((name) => {
        const variable = keyVariable(name, providers);
        const detail = keys[variable] ? 'A key is kept.' : process.env[variable] ? 'Set in the environment.' : '';
        return { label: name, description: variable, detail, variable };
      }),
      { title: 'Tandem: Set API Key', placeHolder: 'The service that the key is for' },
    );
    if (!picked) {
      return undefined;
    }
    const key = await vscode.window.showInputBox({
      title: `Tandem: Key of ${picked.label}`,
      prompt: `Kept in the secret storage and given to the server as ${picked.variable}. Empty forgets the one that is kept.`,
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
      const own = settings.inspect<typeof providers>('providers')?.globalValue;
      const service = own?.[picked.label];
      if (key && service && !service.apiKeyEnv) {
        // The server has no name of its own for the key of a service that somebody has set up.
        const named = { ...own, [picked.label]: { ...service, apiKeyEnv: picked.variable } };
        await settings.update('providers', named, vscode.ConfigurationTarget.Global);
      }
    };
  }
}
