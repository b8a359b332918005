import { blanked, emptyMemory, interpret, meaningOf, type Verdict, verdictOf, wordsOf } from '#devices/panels/index.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printable } from '../table.ts';
import { type Comparison, compare } from './means.ts';
import { type ProfileOptions, profileOf } from './profile.ts';
import { type Row, rowsOf } from './rows.ts';
import { createTally } from './tally.ts';
import { shortened } from './text.ts';

/**
 * `siteward panel try`: a recording through the interpreter, without broker or daemon. 1 when a row means something else than
 * its `means` says, or when no row belongs to the profile.
 */
export async function tryProfile(options: ProfileOptions & { replay: string; json: boolean }): Promise<ExitCode> {
  const compiled = profileOf(options);
  const tally = createTally();
  let memory = emptyMemory();
  let [rows, compared, differing, others] = [0, 0, 0, 0];
  for await (const row of rowsOf(options.replay)) {
    rows += 1;
    // A row that says what it means is read on its own, whatever stood before it.
    const given = row.means === undefined ? memory : emptyMemory();
    const result = interpret(compiled, given, row.message);
    if (row.means === undefined) memory = result.memory;
    const verdict = verdictOf(result);
    tally.add(verdict, result.notes);
    const { compared: words, differs } =
      row.isCommand || row.means === undefined ? nothing : compare(row.means, result.readings, row.message);
    if (words.length > 0) compared += 1;
    if (differs.length > 0) differing += 1;
    if (verdict === 'unmatched') others += 1;
    const raw = blanked(compiled, row.message.topic, row.message.payload);
    const shown: Shown = {
      row,
      verdict,
      raw,
      meaning: meaningOf(result),
      words: result.readings.map(wordsOf),
      differs,
    };
    if (options.json) console.log(JSON.stringify(jsonOf(shown)));
    else console.log(textOf(shown));
  }
  const summary = { rows, ...tally.summary(), compared, differing };
  if (options.json) console.log(JSON.stringify({ kind: 'summary', ...summary }));
  else for (const line of [...tally.lines(), ...comparison(compared, differing)]) console.log(line);
  if (rows > others) return differing > 0 ? exitCodes.failure : exitCodes.ok;
  console.error(
    `siteward: no message of ${options.replay} belongs to the profile; is the base topic right (--var b=...)? It listens to ${compiled.filters.slice(0, 4).join(', ')}`,
  );
  return exitCodes.failure;
}

const nothing: Comparison = { compared: [], differs: [] };

const comparison = (compared: number, differing: number): string[] =>
  compared === 0
    ? []
    : [
        `${compared} rows say what they mean; ${differing === 0 ? 'all are read so' : `${differing} are read otherwise`}`,
      ];

interface Shown {
  readonly row: Row;
  readonly verdict: Verdict;
  readonly raw: string | undefined;
  readonly meaning: string;
  readonly words: readonly Readonly<Record<string, unknown>>[];
  readonly differs: readonly string[];
}

function textOf({ row, raw, meaning, differs }: Shown): string {
  const retained = row.message.retain ? ' (retained)' : '';
  const line = `${shortened(row.message.topic)}  ${shortened(raw ?? '(no text)')}${retained}  ->  ${meaning}`;
  return [printable(line), ...differs.map((one) => printable(`  line ${row.line} differs: ${one}`))].join('\n');
}

const jsonOf = ({ row, verdict, raw, meaning, words, differs }: Shown) => ({
  kind: 'row',
  line: row.line,
  topic: row.message.topic,
  raw: raw ?? null,
  retain: row.message.retain,
  verdict,
  meaning,
  readings: words,
  ...(differs.length > 0 && { differs }),
});
