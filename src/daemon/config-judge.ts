import { parentPort, workerData } from 'node:worker_threads';
import { panelProblems } from '#box/folders.ts';
import { type CheckedForm, changedSections, checkForm, configOf, fixedChanges, problemText } from '#config/index.ts';
import type { ConfigChecked } from '#lan/http/index.ts';
import { type ChangeWish, judgeChange } from './config-change.ts';

/** A thread that judges one text, or one change of it, and ends: what takes long to read, on purpose or not, holds up nothing else. */

export interface CheckWish {
  readonly yaml: string;
  /** The text in force. */
  readonly inForce: string;
  readonly configPath: string;
}

/** Problems that are told; who mends those sees the others next. */
const shown = 200;

function judge({ yaml, inForce, configPath }: CheckWish): ConfigChecked {
  const found = checkForm(yaml, panelProblems(configPath));
  const ok = found.problems.length === 0;
  if (found.config === undefined) return { ok, problems: problemsOf(found) };
  const now = configOf(inForce);
  const fixed = fixedChanges(now, found.config).map((path) => ({
    ...{ severity: 'warning' as const, path },
    message: 'is taken at a start only: a reload would refuse this text',
  }));
  return { ok, problems: [...problemsOf(found), ...fixed], changes: changedSections(now, found.config) };
}

function problemsOf({ problems, warnings }: CheckedForm): ConfigChecked['problems'] {
  const rest = problems.length - shown;
  return [
    ...problems.slice(0, shown).map((problem) => ({
      severity: 'error' as const,
      ...{ line: problem.line, column: problem.col, path: problem.path },
      message: problemText(problem),
    })),
    ...(rest > 0 ? [{ severity: 'error' as const, path: '', message: `there are ${rest} more` }] : []),
    ...warnings.slice(0, shown).map((message) => ({ severity: 'warning' as const, path: '', message })),
  ];
}

const work = workerData as CheckWish | ChangeWish;
parentPort?.postMessage('changes' in work ? await judgeChange(work) : judge(work));
