/**
 * The part of Mermaid's sequence diagrams that troupe writes, as a strict grammar: Mermaid reads
 * every diagram that passes (checked with version 11).
 */
const ID = '[SP][1-9][0-9]*';
/** Text in which entities replace every character with a meaning in the grammar. */
const TEXT = String.raw`(?:[^#;%$\\<>&\x60\p{Cc}]|#[0-9]+;|<br/>)+`;
const LINES: readonly RegExp[] = [
  new RegExp(`^  (?<declare>actor|participant) (?<id>${ID}) as ${TEXT}$`, 'u'),
  new RegExp(`^  (?<from>${ID})(?:->>|-->>|--x)(?<to>${ID}): ${TEXT}$`, 'u'),
  new RegExp(`^  Note over (?<over>${ID}): ${TEXT}$`, 'u'),
  new RegExp(`^  (?<activation>activate|deactivate) (?<id>${ID})$`, 'u'),
];

/** The faults of the diagram; empty if there are none. */
export function faultsOf(diagram: string): readonly string[] {
  const lines = diagram.split('\n');
  const faults: string[] = [];
  if (lines[0] !== 'sequenceDiagram' || lines[1] !== '  autonumber') faults.push('its head');
  if (lines.at(-1) !== '') faults.push('it does not end with a line');
  const declared = new Set<string>();
  const active = new Set<string>();
  for (const line of lines.slice(2, -1)) {
    const groups = LINES.map((form) => form.exec(line)?.groups).find(Boolean);
    if (!groups) {
      faults.push(`not of the grammar: ${line}`);
      continue;
    }
    const { declare, activation, id = '', from = id, to = id, over = id } = groups;
    if (declare) declared.add(id);
    for (const one of [from, to, over]) {
      if (one !== '' && !declared.has(one)) faults.push(`undeclared participant ${one}: ${line}`);
    }
    if (activation === 'activate') active.add(id);
    if (activation === 'deactivate' && !active.delete(id)) faults.push(`not active: ${line}`);
    if (/style|classDef|wrap:/.test(line)) faults.push(`taken for an order: ${line}`);
  }
  return [...faults, ...[...active].map((id) => `still active: ${id}`)];
}
