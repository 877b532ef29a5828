/**
 * The schema of transcript entries as files contain them: what models, pages and programs rely on.
 * Unknown fields are kept, because later versions may add some.
 */
import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import { FILES_MAX, IMAGES_MAX, ImagePartSchema } from '../../protocols/content.ts';

const Text = Type.String();
const Count = Type.Integer({ minimum: 0 });
const Images = Type.Optional(Type.Array(ImagePartSchema, { maxItems: IMAGES_MAX }));
const Calls = Type.Array(Type.Object({ id: Text, name: Text, args: Type.Unknown() }));
const Files = Type.Array(Type.Object({ name: Text, contentType: Text, bytes: Count, hash: Text }), {
  maxItems: FILES_MAX,
});

/** `prompt` is missing: a session builds its own. */
const FIELDS: Readonly<Record<string, TProperties>> = {
  user: { runId: Text, text: Text, images: Images },
  assistant: {
    runId: Text,
    text: Text,
    model: Text,
    stop: Text,
    calls: Type.Optional(Calls),
    files: Type.Optional(Files),
    reasoning: Type.Optional(Text),
  },
  tool: {
    runId: Text,
    callId: Text,
    name: Text,
    result: Text,
    isError: Type.Boolean(),
    images: Images,
  },
  compaction: {
    runId: Text,
    summary: Text,
    keptFrom: Type.Integer({ minimum: 1 }),
    tokensBefore: Count,
    tokensAfter: Count,
  },
  reset: { runId: Text, sessionId: Text },
  fork: { runId: Text, from: Type.Object({ key: Text, turn: Count }) },
  'run.end': { runId: Text, status: Text },
};

export const ENTRY_TYPES: readonly string[] = Object.keys(FIELDS);

const SCHEMAS = Object.entries(FIELDS).map(
  ([type, fields]): TObject =>
    Type.Object({ type: Type.Literal(type), at: Type.Number(), ...fields }),
);

export const TranscriptEntrySchema = Type.Union(SCHEMAS);

/** The schema of one type, whose errors name the field that is wrong. */
export const entrySchemaOf = (type: string): TObject | undefined =>
  SCHEMAS[ENTRY_TYPES.indexOf(type)];
