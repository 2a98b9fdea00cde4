// Which environment variable the key of a model service is read from.

import type { KeyVariable } from './protocol.ts';

export type { KeyVariable };
export type Providers = Record<string, { apiKeyEnv?: string }>;

/** The environment variable that the server reads a provider's key from. */
export function keyVariable(provider: string, providers: Providers): string {
  return providers[provider]?.apiKeyEnv || `${provider.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`;
}

const HOSTED = ['anthropic', 'openai', 'deepseek', 'openrouter'];

/** The services that may want a key: that of the model first, then what is set up, then what is known. */
export function services(model: string, providers: Providers): string[] {
  const named = /^([^/:]+)\//.exec(model)?.[1];
  return [...new Set([...(named ? [named] : []), ...Object.keys(providers), ...HOSTED])];
}

/** The services of the settings, and those that the server knows from elsewhere; what the server reads decides. */
export function withVariables(settings: Providers, server: readonly KeyVariable[]): Providers {
  const out: Providers = { ...settings };
  for (const { provider, variable } of server) {
    out[provider] = { ...out[provider], apiKeyEnv: variable };
  }
  return out;
}
