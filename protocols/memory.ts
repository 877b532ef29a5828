/** The notes of an agent, as operators see them. */

export type NoteHit = {
  /** relative to the workspace */
  readonly path: string;
  /** of the excerpt, from 1, inclusive */
  readonly startLine: number;
  readonly endLine: number;
  /** 0 to 1: of the ranking by words, or of both rankings */
  readonly score: number;
  readonly textScore?: number;
  /** cosine */
  readonly vectorScore?: number;
  /** from the file as it is now; at most 700 characters */
  readonly excerpt: string;
};

/** The state of the index after a search. */
export type NotesState = {
  readonly files: number;
  readonly chunks: number;
  /** `text`: by words alone */
  readonly mode: 'hybrid' | 'text';
  /** `provider/model` of the vectors; absent: none is configured */
  readonly model?: string;
  /** why the mode is `text` although there is a model */
  readonly whyText?: string;
  /** texts without a vector */
  readonly missing: number;
  /** files that could not be searched */
  readonly left: readonly { readonly path: string; readonly why: string }[];
};

export type NotesFound = NotesState & { readonly hits: readonly NoteHit[] };

export type NoteInfo = { readonly path: string; readonly bytes: number };
