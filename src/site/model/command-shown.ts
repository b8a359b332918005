import type { CommandResult, Undone } from './command.ts';

/** What came of a command as clients are told it, over MQTT and on the control socket alike. */
export function resultShown({ outcome, error, partition, undone, state, seq, leftOut, tests }: CommandResult) {
  return {
    outcome,
    ...(error !== undefined && { error: errorShown(error) }),
    ...(partition !== undefined && { partition }),
    ...(state !== undefined && { state }),
    ...(seq !== undefined && { seq }),
    ...(undone !== undefined && { undone: undone.map(undoneShown) }),
    ...(leftOut !== undefined && { left_out: [...leftOut] }),
    ...(tests !== undefined && tests.length > 0 && { tests: tests.map(testResultShown) }),
  };
}

export const errorShown = ({ code, field, zones, retryAfterS }: NonNullable<CommandResult['error']>) => ({
  code,
  ...(field !== undefined && { field }),
  ...(zones !== undefined && { zones: [...zones] }),
  ...(retryAfterS !== undefined && { retry_after_s: Math.ceil(retryAfterS) }),
});

const undoneShown = ({ partition, ...why }: Undone) => ({ partition, ...errorShown(why) });

const testResultShown = ({ walkedZones, missedZones, ...test }: NonNullable<CommandResult['tests']>[number]) => ({
  ...test,
  walked_zones: [...walkedZones],
  missed_zones: [...missedZones],
});
