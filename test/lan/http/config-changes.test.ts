import { expect, test } from 'vitest';
import { configChangesBody } from '#lan/http/config-changes.ts';

const judge = (members: object) =>
  configChangesBody.safeParse({ version: 'v', changes: [{ do: 'change', section: 'nvrs', id: 'rec', members }] });
const group = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, at]));
const nested = (depth: number): unknown => (depth === 0 ? 1 : { within: nested(depth - 1) });

test('a change has bounded groups, and says so', () => {
  const channels = Array.from({ length: 64 }, (_, at) => ({ id: `c${at}`, position: at + 1, clips: ['short'] }));
  expect(judge({ channels, ...group(63) }).success).toBe(true);
  expect(judge({ within: group(64) }).success).toBe(true);
  expect(judge({ within: nested(5) }).success).toBe(true);
  for (const members of [group(65), { within: group(65) }, { channels: [group(65)] }, { within: nested(6) }]) {
    const { error } = judge(members);
    expect(error?.issues).toEqual([
      expect.objectContaining({
        path: ['changes', 0, 'members'],
        message: expect.stringMatching(/more than 64 members.*6 deep/),
      }),
    ]);
  }
  const entry = group(65);
  const added = { do: 'add', section: 'cameras', entry };
  expect(configChangesBody.safeParse({ version: 'v', changes: [added] }).success).toBe(false);
});
