/**
 * What a user without a configured model could use: keys of providers in the environment, and model
 * servers on this machine that speak OpenAI's protocol. Keys are named, never shown. Only loopback
 * addresses receive a request, all at once, each for at most a second.
 */
import type { Config } from '../runtime/config/index.ts';
import { exchange } from './client/gateway-http.ts';
import { BUILT_IN_PROVIDER_IDS, BUILT_IN_PROVIDERS } from '../protocols/models/model-providers.ts';

/** One sentence about what was found, and the command that adds it, if one is needed. */
export type FoundModel = { readonly text: string; readonly command?: string };

type Env = Readonly<Record<string, string | undefined>>;
type Server = { readonly id: string; readonly name: string; readonly url: string };

const SERVERS = [
  { id: 'ollama', name: 'Ollama', url: 'http://127.0.0.1:11434' },
  { id: 'lmstudio', name: 'LM Studio', url: 'http://127.0.0.1:1234' },
  { id: 'vllm', name: 'vLLM', url: 'http://127.0.0.1:8000' },
  { id: 'llamacpp', name: 'llama.cpp', url: 'http://127.0.0.1:8080' },
] as const satisfies readonly Server[];

const WAIT_MS = 1_000;
const BYTES_MAX = 1_000_000;
const SHOWN_MAX = 3;
/** Ids that are safe between quotes of a shell; a server may send anything. */
const PLAIN_ID = /^[\w.:/@+-]{1,100}$/;
const EMBEDS = /embed/i;

/** Whether the configuration names neither a provider nor a model. */
export const namesNoModel = ({ models, agents }: Config): boolean =>
  Object.keys(models.providers).length === 0 &&
  [agents.defaults, ...agents.agents].every(({ model }) => model === undefined);

/** Empty when nothing was found. Never rejects. */
export async function findModels(env: Env): Promise<readonly FoundModel[]> {
  const found = await Promise.all(serversOf(env).map(lookAt));
  return [...keysIn(env), ...found.flat()];
}

/** The first provider with a key answers; the command makes another one the default. */
const keysIn = (env: Env): FoundModel[] =>
  BUILT_IN_PROVIDER_IDS.flatMap((id) => {
    const variable = BUILT_IN_PROVIDERS[id].keyVariables.find((name) => env[name]);
    return variable === undefined ? [] : [{ id, variable }];
  }).map(({ id, variable }, index) =>
    index === 0
      ? { text: `${variable} is set: models of ${id} answer` }
      : {
          text: `${variable} is set too: models of ${id} can be chosen, or become the default`,
          command: `troupe config set models.providers.${id} '{ apiKey: { env: "${variable}" } }'`,
        },
  );

/** Ollama's own variable may name another port; an address that is not loopback is ignored. */
function serversOf({ OLLAMA_HOST: host }: Env): readonly Server[] {
  const other = /^(?:http:\/\/)?(?:127\.0\.0\.1|localhost|0\.0\.0\.0)?:(\d{1,5})\/?$/.exec(
    host ?? '',
  );
  const [ollama, ...others] = SERVERS;
  return other ? [{ ...ollama, url: `http://127.0.0.1:${other[1]}` }, ...others] : SERVERS;
}

async function lookAt({ id, name, url }: Server): Promise<FoundModel[]> {
  const models = await modelsAt(url).catch(() => undefined);
  if (models === undefined) return [];
  const ids = models.filter((model) => !EMBEDS.test(model)).slice(0, SHOWN_MAX);
  if (ids.length === 0) return [{ text: `${name} answers at ${url}, and has no model yet` }];
  const list = ids.map((model) => `{ id: "${model}" }`).join(', ');
  const value = `{ baseUrl: "${url}/v1", api: "openai-completions", models: [${list}] }`;
  return [
    {
      text: `${name} answers at ${url}, with ${ids.join(', ')}`,
      command: `troupe config set models.providers.${id} '${value}'`,
    },
  ];
}

/** @throws when the answer is late, too long, or not a list of models */
async function modelsAt(url: string): Promise<string[]> {
  const signal = AbortSignal.timeout(WAIT_MS);
  const options = { signal, bytesMax: BYTES_MAX };
  const { status, text } = await exchange(`${url}/v1/models`, options);
  if (status !== 200) throw new Error(`status ${status}`);
  const { data } = JSON.parse(text) as { data: readonly { readonly id: unknown }[] | null };
  // Ollama without a model answers `null`.
  return (data ?? [])
    .map(({ id }) => id)
    .filter((id): id is string => typeof id === 'string' && PLAIN_ID.test(id));
}
