/** Commands that read the configuration of one tenant: `--tenant`. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { runProgram } from './program.ts';

const hook = (name: string) =>
  `export default { name: '${name}', hooks: { message_sending: (_, { tenant }) => ({ text: tenant }) } };`;

const installation = (): string => {
  const data = scratchFolder();
  write(
    data,
    'troupe.json5',
    `{
      agents: { agents: [{ id: 'main' }, { id: 'clerk' }] },
      tenants: { acme: {
        agents: { agents: [{ id: 'main', purpose: 'Answers for Acme.' }, { id: 'ledger' }] },
        models: { providers: { openai: {} } },
        tools: { agentToAgent: { enabled: true } },
        hooks: {},
        workspaces: { path: 'acme-files' },
      } },
    }`,
  );
  write(join(data, 'hooks'), 'own.mjs', hook('of-the-installation'));
  write(join(data, 'tenants/acme/hooks'), 'own.mjs', hook('of-acme'));
  return data;
};

it('commands show the configuration of the tenant, and without --tenant that of the installation', async () => {
  const data = installation();
  const run = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await runProgram([...args, '--data', data, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  const both = async (...args: string[]) => [
    await run(args),
    await run([...args, '--tenant', 'acme']),
  ];
  const [hooks, hooksOfAcme] = await both('hooks', 'list');
  expect(hooks).toContain('of-the-installation');
  expect(hooksOfAcme).toContain('of-acme');
  expect(hooksOfAcme).not.toContain('of-the-installation');
  expect(await run(['hooks', 'test', 'message_sending', '--tenant', 'acme'])).toContain(
    '"text": "acme"',
  );
  const [policy, policyOfAcme] = await both('agents', 'policy');
  expect(policy).toContain('"clerk"');
  expect(policyOfAcme).toContain('"ledger"');
  expect(policyOfAcme).not.toContain('"clerk"');
  const [prompt, promptOfAcme] = await both('agent', 'prompt');
  expect(prompt).not.toContain('Answers for Acme.');
  expect(promptOfAcme).toContain('Answers for Acme.');
  const [folder, folderOfAcme] = await both('agent', 'workspace');
  expect(folder).not.toContain('acme');
  expect(folderOfAcme).toContain(join(data, 'acme-files'));
  expect(await run(['doctor'])).toMatch(/models of acme/);
}, 60_000);

it('an unknown tenant is refused with the list of configured ones', async () => {
  const args = ['agents', 'policy', '--data', installation(), '--tenant', 'unknown'];
  const { code, stderr } = await runProgram(args);
  expect(code).not.toBe(0);
  expect(stderr).toContain('no tenant unknown is configured; available: default, acme');
});
