/** The files of a new project, by their paths in its folder. */

export type Language = 'typescript' | 'javascript';

export type TemplateOptions = {
  readonly name: string;
  readonly language: Language;
  /** what npm installs, by package; includes troupe */
  readonly dependencies: Readonly<Record<string, string>>;
  /** the same for development */
  readonly devDependencies: Readonly<Record<string, string>>;
};

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

export function templateFiles(options: TemplateOptions): Readonly<Record<string, string>> {
  const { name, language, dependencies, devDependencies } = options;
  const isTyped = language === 'typescript';
  const end = isTyped ? 'ts' : 'js';
  const code = Object.entries({
    'src/bill': bill,
    'src/pay-bill': payBill,
    'src/main': main,
    'test/bill.test': test,
  });
  return {
    'package.json': json({
      name,
      version: '0.1.0',
      private: true,
      type: 'module',
      scripts: isTyped
        ? {
            dev: 'troupe dev src/main.ts',
            build: 'tsc',
            start: 'tsc && node dist/src/main.js',
            test: 'tsc && node --test dist/test/bill.test.js',
          }
        : {
            dev: 'troupe dev src/main.js',
            start: 'node src/main.js',
            test: 'node --test test/bill.test.js',
          },
      dependencies,
      devDependencies,
    }),
    ...(isTyped ? { 'tsconfig.json': tsconfig } : {}),
    '.gitignore': 'node_modules/\ndata/\ndist/\n',
    // A linked folder would bring its own XState; npm copies it instead.
    ...(dependencies['troupe']?.startsWith('file:') ? { '.npmrc': 'install-links=true\n' } : {}),
    'README.md': readme(name, end),
    ...Object.fromEntries(
      code.map(([path, text]) => [`${path}.${end}`, isTyped ? typed(text) : untyped(text)]),
    ),
  };
}

/** In the texts below, `//ts` begins a line and `/*ts` a part of a line of TypeScript only. */
const typed = (text: string): string =>
  text.replaceAll(/^( *)\/\/ts /gm, '$1').replaceAll(/\/\*ts(.*?)\*\//g, '$1');

const untyped = (text: string): string =>
  text
    .replaceAll(/^ *\/\/ts .*\n/gm, '')
    .replaceAll(/\/\*ts.*?\*\//g, '')
    .replaceAll(/, \}/g, ' }');

const tsconfig = json({
  compilerOptions: {
    strict: true,
    module: 'nodenext',
    target: 'es2023',
    types: ['node'],
    outDir: 'dist',
    rootDir: '.',
    skipLibCheck: true,
  },
  include: ['src', 'test'],
});

const bill = `/**
 * A bill: a durable actor. Its statechart is pure; \`charge\` is an effect, which starts after the
 * state is stored and continues after a crash.
 */
import { defineActor, effect, hostActions } from 'troupe';
//ts import type { ActorInput, Delivered, ReplyRef } from 'troupe';
import { assign, setup } from 'xstate';

//ts type Pay = Delivered<{ type: 'bill.pay'; cents: number }>;
//ts type Context = { cents: number; caller: ReplyRef | undefined; receipt: string };

export const machine = setup({
  //ts types: { context: {} as Context, events: {} as Pay, input: {} as ActorInput },
  actors: { charge: effect/*ts<string, { cents: number }>*/() },
  actions: {
    ...hostActions,
    keep: assign(({ event }) => ({ cents: event.cents, caller: event.meta.reply })),
  },
}).createMachine({
  id: 'bill',
  context: { cents: 0, caller: undefined, receipt: '' },
  initial: 'open',
  states: {
    open: { on: { 'bill.pay': { target: 'charging', actions: 'keep' } } },
    charging: {
      invoke: {
        id: 'charge',
        src: 'charge',
        input: ({ context }) => ({ cents: context.cents }),
        onDone: {
          target: 'paid',
          actions: [
            assign({ receipt: ({ event }) => event.output }),
            {
              type: 'reply',
              params: ({ context }) => ({ to: context.caller, result: context.receipt }),
            },
          ],
        },
      },
    },
    paid: {
      description: 'Every later request gets the same receipt.',
      on: {
        'bill.pay': {
          actions: {
            type: 'reply',
            params: ({ context, event }) => ({ to: event.meta.reply, result: context.receipt }),
          },
        },
      },
    },
  },
});

export const bill = defineActor({
  type: 'bill',
  version: 1,
  machine,
  effects: {
    charge: {
      // It may run again after a crash. Use \`keyed\` for a payment service with idempotency keys.
      class: 'repeatable',
      run: async ({ cents }/*ts: { cents: number }*/) => \`receipt for \${cents} cents\`,
    },
  },
});
`;

const payBill = `/** A tool for models: it asks the actor of a bill. */
import { address } from 'troupe';
import { defineTool } from 'troupe/agents';
import { Type } from '@sinclair/typebox';

export const payBill = defineTool({
  name: 'pay_bill',
  description: 'Pays a bill, and returns the receipt.',
  parameters: Type.Object(
    {
      bill: Type.String({ description: 'number of the bill' }),
      cents: Type.Integer({ minimum: 1 }),
    },
    { additionalProperties: false },
  ),
  // A repeated call has the same key, so the bill is paid once.
  class: 'keyed',
  parallel: true,
  async run({ bill, cents }, { system, tenant, idempotencyKey }) {
    const to = address(tenant, 'bill', bill);
    const answer = await system.ask(to, { type: 'bill.pay', cents }, { key: idempotencyKey });
    return answer.kind === 'answered'
      ? { text: String(answer.result) }
      : { text: \`the bill was not paid: \${answer.kind}\`, isError: true };
  },
});
`;

const main = `/** Starts agents, the gateway and the page, with the actor and the tool of this project. */
import { startTroupe } from 'troupe/agents';
import { bill } from './bill.js';
import { payBill } from './pay-bill.js';

const troupe = await startTroupe({
  data: 'data',
  port: 18_790,
  actors: [bill],
  tools: [payBill],
});
console.log(\`\${troupe.url}#token=\${troupe.token}\`);
console.log('Try: call pay_bill {"bill": "1", "cents": 4200}');

for (const signal of ['SIGINT', 'SIGTERM']/*ts as const*/)
  process.once(signal, () => troupe.stop().then(() => process.exit(0)));
// Nothing that was accepted is lost: start it again.
troupe.failed.then((error) => {
  console.error(error.message);
  process.exit(1);
});
`;

const test = `/** The actor on a virtual clock, with a crash. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address } from 'troupe';
import { simulate } from 'troupe/test';
import { bill } from '../src/bill.js';

test('a bill is paid, and stays paid after a crash', async () => {
  const simulation = await simulate({ actors: [bill] });
  const to = address('default', 'bill', '1');
  const answer = await simulation.ask(to, { type: 'bill.pay', cents: 4_200 });
  assert.deepEqual(answer, { kind: 'answered', result: 'receipt for 4200 cents' });
  await simulation.crash();
  assert.equal(simulation.system.inspect(to)?.value, 'paid');
  await simulation.stop();
});
`;

const readme = (name: string, end: string): string => `# ${name}

\`\`\`
npm install
npm test         src/bill.${end} in the simulator, with a crash
npm run dev      starts it, prints the URL of the page, and starts it again when a file changes
\`\`\`

In the page, write \`call pay_bill {"bill": "1", "cents": 4200}\`: the offline model calls the tool of src/pay-bill.${end}, which
asks the actor of src/bill.${end}. The view Actors shows its statechart. The command line finds it by its data folder:
\`npx --no-install troupe chat --data data\`. Actors keep their state when a file changes; after a change of the states of a chart, raise the
\`version\` in \`defineActor\`, and say there how to migrate.
`;
