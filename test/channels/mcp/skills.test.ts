/** Skills over MCP, with the official client: files with digests, and what is never served. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { SkillFolder } from '../../../agent/prompt/skill-folder.ts';
import { createSecretMask } from '../../../agent/tools/secret-mask.ts';
import type { SkillOptions } from '../../../channels/mcp/skills.ts';
import { type McpGateway, serveMcp } from './gateway.ts';

const SECRET = 'a-secret-of-the-installation';
const PIN = '9876543210';
const INDEX = 'skill://index.json';
const SKILLS = 'io.modelcontextprotocol/skills';

let folder: string;
let outside: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-skills-'));
  outside = mkdtempSync(join(tmpdir(), 'troupe-outside-'));
  onTestFinished(() => {
    for (const path of [folder, outside]) rmSync(path, { recursive: true, force: true });
  });
  write('weather/SKILL.md', skillText('weather'));
  write('weather/references/Gió mùa #1.md', '\uFEFF# Gió mùa\n');
  write('weather/assets/icon.png', Buffer.from([0x89, 0x50, 0, 1, 2]));
  write('weather/.env', 'TOKEN=hidden');
  write('weather/.git/config', 'hidden');
  write(join(outside, 'passwd'), 'root');
  symlinkSync(join(outside, 'passwd'), join(folder, 'weather/passwd'));
  symlinkSync(outside, join(folder, 'weather/out'));
});

const write = (path: string, contents: string | Buffer): void => {
  const at = path.startsWith('/') ? path : join(folder, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, contents);
};
const skillText = (name: string, more = 'license: MIT\nmetadata: { version: 2 }\n') =>
  `---\nname: ${name}\ndescription: Tells the ${name}.\n${more}---\n\n# How\n`;

const serve = (skillsFor: SkillOptions['skillsFor'] = 'operators'): Promise<McpGateway> => {
  const source = new SkillFolder(folder, Date.now, createSecretMask([SECRET, PIN]));
  const none = new SkillFolder(join(folder, 'nowhere'), Date.now);
  const skillsOf = (tenant: string) => (tenant === 'acme' ? source : none);
  return serveMcp('read', { skills: { skillsFor, skillsOf } });
};

const connect = async (
  { url }: McpGateway,
  as = 'operator',
  mode: 'auto' | 'legacy' = 'auto',
): Promise<Client> => {
  const client = new Client({ name: 't', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${as}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  return client;
};

type Entry = {
  uri: string;
  frontmatter: Record<string, unknown>;
  resources: { uri: string; digest: string; size: number }[];
};
/** Takes any result: tests read whatever the method returns. */
type Anything = {
  // oxlint-disable-next-line no-explicit-any
  readonly [name: string]: any;
};
const anything = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) => ({ value: value as Anything }),
    types: undefined as unknown as { input: unknown; output: Anything },
  },
};
const ask = (
  client: Client,
  method: string,
  params: Record<string, unknown> = {},
): Promise<Anything> => client.request({ method, params }, anything);
const entriesOf = async (client: Client): Promise<Entry[]> =>
  (await ask(client, 'skills/list'))['skills'] as Entry[];

const bytesOf = async (client: Client, uri: string): Promise<Buffer> => {
  const read = (await client.readResource({ uri })).contents[0]!;
  return 'blob' in read ? Buffer.from(read.blob, 'base64') : Buffer.from(read.text);
};
const digestOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

describe.each(['auto', 'legacy'] as const)('a client (%s)', (mode) => {
  test('reads every file of a skill, with the digest and size of its entry', async () => {
    const client = await connect(await serve(), 'operator', mode);
    expect(client.getServerCapabilities()).toMatchObject({
      resources: {},
      extensions: { [SKILLS]: { directoryRead: true } },
    });
    const [entry, ...others] = await entriesOf(client);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      uri: 'skill://weather/SKILL.md',
      frontmatter: {
        name: 'weather',
        description: 'Tells the weather.',
        license: 'MIT',
        metadata: { version: 2 },
      },
    });
    expect(entry!.resources.map(({ uri }) => uri)).toEqual([
      'skill://weather/SKILL.md',
      'skill://weather/assets/icon.png',
      'skill://weather/references/Gi%C3%B3%20m%C3%B9a%20%231.md',
    ]);
    for (const { uri, digest, size } of entry!.resources) {
      const bytes = await bytesOf(client, uri);
      expect([digestOf(bytes), bytes.length]).toEqual([digest, size]);
    }
    expect((await ask(client, 'skills/get', { uri: entry!.uri }))['skill']).toEqual(entry);
  });

  test('finds the same in the index and in the list of resources', async () => {
    const client = await connect(await serve(), 'operator', mode);
    const [entry] = await entriesOf(client);
    const index = JSON.parse((await bytesOf(client, INDEX)).toString());
    const { digest } = entry!.resources[0]!;
    expect(index.skills).toEqual([
      {
        name: 'weather',
        type: 'skill-md',
        description: 'Tells the weather.',
        url: entry!.uri,
        digest,
        files: entry!.resources.map(({ uri: url, ...file }) => ({ url, ...file })),
      },
    ]);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri, mimeType }) => [uri, mimeType])).toEqual([
      [INDEX, 'application/json'],
      ['skill://weather/SKILL.md', 'text/markdown'],
      ['skill://weather/assets/icon.png', 'image/png'],
      ['skill://weather/references/Gi%C3%B3%20m%C3%B9a%20%231.md', 'text/markdown'],
    ]);
  });
});

test('a folder of a skill is listed with its direct children', async () => {
  const client = await connect(await serve());
  const read = (uri: string, more = {}) =>
    ask(client, 'resources/directory/read', { uri, ...more });
  expect((await read('skill://weather'))['resources']).toMatchObject([
    { uri: 'skill://weather/SKILL.md', name: 'weather', mimeType: 'text/markdown' },
    { uri: 'skill://weather/assets', name: 'assets', mimeType: 'inode/directory' },
    { uri: 'skill://weather/references', name: 'references', mimeType: 'inode/directory' },
  ]);
  expect((await read('skill://weather/assets'))['resources']).toMatchObject([
    { uri: 'skill://weather/assets/icon.png', name: 'icon.png' },
  ]);
  for (const uri of [
    'skill://weather/SKILL.md',
    'skill://weather/',
    'skill://weather/.git',
    'skill://weather/out',
    'skill://weather/..',
    'skill://nope',
    'skill://',
    INDEX,
  ])
    await expect(read(uri)).rejects.toMatchObject({ code: -32_602 });
  await expect(read('skill://weather', { cursor: 'x' })).rejects.toMatchObject({ code: -32_602 });
});

test('a changed file has another digest, and a removed skill is not found', async () => {
  const client = await connect(await serve());
  const icon = async () =>
    (await entriesOf(client))[0]!.resources.find(({ uri }) => uri.endsWith('.png'))!;
  const before = await icon();
  write('weather/assets/icon.png', Buffer.from([0x89, 0x50, 0, 1, 3]));
  const after = await icon();
  expect(after.digest).not.toBe(before.digest);
  expect(digestOf(await bytesOf(client, after.uri))).toBe(after.digest);

  rmSync(join(folder, 'weather'), { recursive: true });
  expect(await entriesOf(client)).toEqual([]);
  for (const gone of [client.readResource({ uri: after.uri }), bytesOf(client, after.uri)])
    await expect(gone).rejects.toMatchObject({ code: -32_602 });
  const get = ask(client, 'skills/get', { uri: 'skill://weather/SKILL.md' });
  await expect(get).rejects.toMatchObject({
    code: -32_602,
    message: expect.stringContaining('there is no skill skill://weather/SKILL.md'),
  });
});

test('nothing outside of a skill and nothing hidden is read', async () => {
  const client = await connect(await serve());
  write('secret.txt', 'beside the skills');
  for (const path of [
    '../secret.txt',
    '%2e%2e/secret.txt',
    '..%2fsecret.txt',
    'references/../../secret.txt',
    'references/../SKILL.md',
    './SKILL.md',
    '/SKILL.md',
    'SKILL.md/',
    'SKILL.md%00',
    '%E0',
    '.env',
    '.git/config',
    'passwd',
    'out/passwd',
    'references',
    '',
  ])
    await expect(client.readResource({ uri: `skill://weather/${path}` })).rejects.toMatchObject({
      code: -32_602,
    });
  for (const uri of ['skill://../secret.txt', `skill://${outside}/passwd`, 'skill://'])
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
});

test('a skill is left out if it does not conform, or is too large', async () => {
  write('Big Name/SKILL.md', skillText('Big Name'));
  write('double/SKILL.md', skillText('a--b'));
  write('empty/SKILL.md', '# no front matter');
  write('.hidden/SKILL.md', skillText('hidden'));
  mkdirSync(join(folder, 'linked'));
  symlinkSync(join(folder, 'weather/SKILL.md'), join(folder, 'linked/SKILL.md'));
  write('large/SKILL.md', skillText('large'));
  write('large/data.bin', Buffer.alloc(1_048_577));
  write('many/SKILL.md', skillText('many'));
  for (let n = 0; n < 512; n++) write(`many/files/${n}`, '');
  write('heavy/SKILL.md', skillText('heavy'));
  for (let n = 0; n < 17; n++) write(`heavy/${n}`, Buffer.alloc(1_000_000));
  write('alias/SKILL.md', skillText('alias', 'a: &a 1\nb: *a\n'));
  write('not-utf8/SKILL.md', skillText('not-utf8'));
  writeFileSync(Buffer.from(join(folder, 'not-utf8/f\xff'), 'latin1'), '');
  write('not-utf8-folder/SKILL.md', skillText('not-utf8-folder'));
  mkdirSync(Buffer.from(join(folder, 'not-utf8-folder/f\xff'), 'latin1'));
  write('just-fits/SKILL.md', skillText('just-fits'));
  for (let n = 0; n < 511; n++) write(`just-fits/${n}`, '');
  const client = await connect(await serve());
  expect((await entriesOf(client)).map(({ uri }) => uri)).toEqual([
    'skill://just-fits/SKILL.md',
    'skill://weather/SKILL.md',
  ]);
  await expect(client.readResource({ uri: 'skill://large/data.bin' })).rejects.toMatchObject({
    code: -32_602,
  });
});

test('known secrets are masked, and digests are of what is read', async () => {
  write('weather/notes.txt', `token ${SECRET}`);
  const client = await connect(await serve());
  const bytes = await bytesOf(client, 'skill://weather/notes.txt');
  expect(bytes.toString()).toBe('token ***');
  const listed = (await entriesOf(client))[0]!.resources.find(({ uri }) =>
    uri.endsWith('notes.txt'),
  );
  expect(listed).toMatchObject({ digest: digestOf(bytes), size: bytes.length });
});

test.each([
  ['Latin-1', Buffer.from(`\xe9 ${SECRET} \xe9`, 'latin1')],
  ['a zero byte', Buffer.from(`\0${SECRET}\0`)],
  ['base64', Buffer.from(`\0${Buffer.from(SECRET).toString('base64')}`)],
])('known secrets are masked in files that are no text: %s', async (_, contents) => {
  write('weather/data.bin', contents);
  const client = await connect(await serve());
  const bytes = await bytesOf(client, 'skill://weather/data.bin');
  expect(bytes.toString('latin1')).toContain('***');
  expect(createSecretMask([SECRET]).text(bytes.toString('latin1'))).toBe(bytes.toString('latin1'));
  const listed = (await entriesOf(client))[0]!.resources.find(({ uri }) => uri.endsWith('.bin'));
  expect(listed).toMatchObject({ digest: digestOf(bytes), size: bytes.length });
});

test('files, folders and skills with a known secret in their names are not served', async () => {
  write(`weather/${SECRET}.txt`, 'x');
  write(`weather/for ${SECRET}/notes.txt`, 'x');
  write(`${SECRET}/SKILL.md`, skillText(SECRET));
  const client = await connect(await serve());
  expect(JSON.stringify(await entriesOf(client))).not.toContain(SECRET);
  expect((await client.listResources()).resources).toHaveLength(4);
  const folders = await ask(client, 'resources/directory/read', { uri: 'skill://weather' });
  expect(JSON.stringify(folders)).not.toContain(SECRET);
  const uri = `skill://weather/${SECRET}.txt`;
  await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
});

test('known secrets are masked in the front matter, whatever YAML they are in', async () => {
  const more = [
    `token: ${SECRET}`,
    `${SECRET}: key`,
    `list: [${SECRET}]`,
    `about: {${SECRET}: x, in: "a ${SECRET}"}`,
    `pin: ${PIN}`,
    '',
  ].join('\n');
  write('weather/SKILL.md', skillText('weather', more));
  const client = await connect(await serve());
  expect((await entriesOf(client))[0]!.frontmatter).toEqual({
    name: 'weather',
    description: 'Tells the weather.',
    token: '***',
    '***': 'key',
    list: ['***'],
    about: { '***': 'x', in: 'a ***' },
    pin: '***',
  });
  const text = (await bytesOf(client, 'skill://weather/SKILL.md')).toString();
  expect(text).toContain('token: ***');
  expect(text).not.toContain(SECRET);
});

test('a skill stays while another process removes and writes files in it', async () => {
  const source = new SkillFolder(folder, Date.now);
  const places = Array.from({ length: 8 }, (_, n) => join(folder, `weather/tmp-${n}`));
  let ends = false;
  const churn = places.map(async (place) => {
    while (!ends) {
      await mkdir(place, { recursive: true });
      await writeFile(join(place, 'data'), 'x');
      await rm(place, { recursive: true });
    }
  });
  const found = [];
  for (let n = 0; n < 200; n++) found.push((await source.skill('weather'))?.name);
  ends = true;
  await Promise.all(churn);
  expect(new Set(found)).toEqual(new Set(['weather']));
});

test('pages are stable while skills come and go', async () => {
  const name = (n: number) => `skill-${String(n).padStart(2, '0')}`;
  for (let n = 0; n < 45; n++) write(`${name(n)}/SKILL.md`, skillText(name(n)));
  const client = await connect(await serve());
  const first = await ask(client, 'skills/list');
  expect(first['skills']).toHaveLength(20);
  const resources = await ask(client, 'resources/list');
  rmSync(join(folder, name(3)), { recursive: true });
  write('a-new-one/SKILL.md', skillText('a-new-one'));
  const second = await ask(client, 'skills/list', { cursor: first['nextCursor'] });
  expect(second['skills'][0].uri).toBe(`skill://${name(20)}/SKILL.md`);
  const third = await ask(client, 'skills/list', { cursor: second['nextCursor'] });
  expect(third['skills'].at(-1).uri).toBe('skill://weather/SKILL.md');
  expect(third['nextCursor']).toBeUndefined();
  const next = await ask(client, 'resources/list', { cursor: resources['nextCursor'] });
  expect(next['resources'][0].uri).toBe(`skill://${name(20)}/SKILL.md`);
  for (const cursor of ['../', 'A', 'a'.repeat(65)])
    await expect(ask(client, 'skills/list', { cursor })).rejects.toMatchObject({ code: -32_602 });
});

test('who sees skills: operators of the tenant, every token of it, or none', async () => {
  const uri = 'skill://weather/SKILL.md';
  const gateway = await serve();
  for (const as of ['alice', 'mallory']) {
    const client = await connect(gateway, as);
    expect(await entriesOf(client)).toEqual([]);
    expect((await client.listResources()).resources).toEqual([]);
    for (const asked of [uri, INDEX])
      await expect(client.readResource({ uri: asked })).rejects.toMatchObject({ code: -32_602 });
    await expect(ask(client, 'skills/get', { uri })).rejects.toMatchObject({ code: -32_602 });
  }
  const open = await serve('all');
  expect(await entriesOf(await connect(open, 'alice'))).toHaveLength(1);
  expect(await entriesOf(await connect(open, 'mallory'))).toEqual([]);
  const scoped = await connect(open, 'alice troupe:call');
  for (const refused of [entriesOf(scoped), scoped.readResource({ uri })])
    await expect(refused).rejects.toMatchObject({ data: { code: 'FORBIDDEN' } });

  const off = await connect(await serve('none'));
  expect(off.getServerCapabilities()?.extensions).not.toHaveProperty([SKILLS]);
  await expect(ask(off, 'skills/list')).rejects.toThrow('Method not found');
  await expect(off.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
});
