/**
 * Moving an installation: what `troupe export` includes in addition to the store, what it leaves
 * out, and what `troupe import` verifies.
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorData } from '../protocols/errors.ts';
import { checkContents } from '../runtime/artifacts/checks.ts';
import { fileOf, filesOf } from '../runtime/artifacts/folder-room.ts';
import { sealingKey, unseal } from '../runtime/artifacts/sealed-file.ts';
import { configFileName, type Config, tokenFile } from '../runtime/config/index.ts';
import type { Artifacts } from '../runtime/index.ts';
import type { ArtifactFile } from '../runtime/transfer/export.ts';
import type { References } from '../runtime/transfer/references.ts';
import { artifactsFolder } from './artifact-bucket.ts';
import { movedKeys } from './moved-keys.ts';

/**
 * The files of a folder of artifacts, one at a time. Files in an S3 bucket are not moved.
 * @param leftOut gets one line for each file that cannot be read
 */
export async function* artifactFiles(
  config: Config,
  leftOut: (line: string) => void,
): AsyncGenerator<ArtifactFile> {
  const { s3, encryptionKey } = config.a2a.artifacts;
  if (s3) return;
  const path = artifactsFolder(config);
  const key = encryptionKey && sealingKey(encryptionKey.reveal());
  if (!(await allNamesIn(path)).length) return;
  for await (const { tenant, hash } of filesOf(path, join(path, 'incoming'))) {
    try {
      const opened = unseal(hash, await readFile(fileOf(path, tenant, hash)), key);
      await checkContents(hash, opened.contents);
      const { contentType } = opened.artifact;
      yield { tenant, contentType, contents: opened.contents };
    } catch (error) {
      leftOut(`file ${hash} of the tenant ${tenant}: ${errorData(error).message}`);
    }
  }
}

/** The parts of the data folder that no export contains, one line each with the reason. */
export async function leftBehind(config: Config): Promise<readonly string[]> {
  const { home, a2a } = config;
  const keys = new Set(movedKeys(config).map(({ path }) => path));
  const names = [...(await allNamesIn(home)), ...(await allNamesIn(join(home, 'a2a'), 'a2a'))];
  const known = names.flatMap((name) => {
    if (CARRIED.has(name) || keys.has(join(home, name))) return [];
    const why = REASONS.get(name) ?? 'is not part of an export';
    return [`${join(home, name)}: ${why}`];
  });
  const { s3 } = a2a.artifacts;
  return s3
    ? [...known, `files in the bucket ${s3.bucket} are not moved; configure the same bucket`]
    : known;
}

const CARRIED = new Set(['store', 'workspaces', 'artifacts', 'a2a']);
const REASONS: ReadonlyMap<string, string> = new Map([
  [basename(tokenFile('')), "the gateway's token: the cluster has its own"],
  [configFileName, 'the configuration, with model keys: copy the parts for the cluster'],
  ['device.json', 'the identity of this machine as a device: each machine has its own'],
  ['skills', 'skills for all agents: copy the folder to each machine'],
  ['hooks', 'hooks: copy the folder to each machine'],
  ['cluster-cache', 'a cache of rows that is created again'],
]);

/** Sorted names in a folder, each with `prefix/`; none if the folder does not exist. */
const allNamesIn = async (path: string, prefix = ''): Promise<readonly string[]> => {
  const names = await readdir(path).catch(() => []);
  return names.map((name) => join(prefix, name)).sort();
};

export type Proof = {
  readonly artifacts: Pick<Artifacts, 'sign'>;
  readonly references: References;
  /** ids of the sealing keys of the exported installation, and of those that exist here */
  readonly kids: { readonly before: readonly string[]; readonly now: readonly string[] };
};

/** References that are missing or could not be checked, one line each. */
export async function unresolved({ artifacts, references, kids }: Proof): Promise<string[]> {
  const lines: string[] = [];
  for (const reference of [...references.artifacts].sort()) {
    const [tenant = '', hash = ''] = reference.split('/');
    try {
      await artifacts.sign(tenant, hash);
    } catch (error) {
      const { code, message } = errorData(error);
      const why = code === 'NOT_FOUND' ? 'is missing' : `could not be checked: ${message}`;
      lines.push(`file ${hash} of the tenant ${tenant} ${why}`);
    }
  }
  for (const kid of kids.before)
    if (references.keys.has(kid) && !kids.now.includes(kid))
      lines.push(`payloads are sealed to the key ${kid}, which is missing`);
  return lines;
}
