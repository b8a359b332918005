import { expect, it } from 'vitest';
import type { Settings } from '#config/index.ts';
import type { StatusDocument } from '#lan/http/index.ts';
import { panelsCheck } from '../../src/cli/doctor/devices.ts';

it('says of a panel that nothing of the site is of, that nobody waits for it', async () => {
  const status = { panels: [{ kind: 'panel', id: 'hall', up: true }] } as unknown as StatusDocument;
  const found = await panelsCheck.look(
    {
      ...{ file: 'siteward.yaml', root: '/', config: { problems: [], warnings: [] } },
      settings: { panels: [{ id: 'main' }, { id: 'hall' }] } as unknown as Settings,
      daemon: { pid: 42, status, control: undefined, why: undefined },
    },
    new AbortController().signal,
  );
  expect(found).toEqual([
    { state: 'ok', subject: 'hall', seen: 'answers' },
    { state: 'skipped', subject: 'main', seen: expect.stringContaining('no zone and no partition') },
  ]);
});
