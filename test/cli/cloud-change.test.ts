import { afterEach, expect, test, vi } from 'vitest';
import { carryOut } from '#cli/cloud/change.ts';

afterEach(() => void vi.restoreAllMocks());

/** Deletes a site of that name with `--yes`; what was said, and whether it was done. */
async function deleting(name: string | undefined, yes?: string) {
  const said: string[] = [];
  vi.spyOn(console, 'log').mockImplementation(() => {});
  vi.spyOn(console, 'error').mockImplementation((text: unknown) => void said.push(String(text)));
  const act = vi.fn(async () => undefined);
  await carryOut(
    {
      ...{ what: 'delete the site', target: 'site 17', act },
      noted: { action: 'site_deleted', site_id: '17' },
      permanent: { loses: 'all of it', site: { site_id: '17', ...(name !== undefined && { name }) } },
    },
    {
      ...{ config: 'none.yaml', socket: '/nonexistent/control.sock', timeout: 5, json: false, dryRun: false },
      ...(yes !== undefined && { yes }),
    },
  );
  return { done: act.mock.calls.length, said: said.join('\n') };
}

test.each(['', '  ', '\u001b[31m', undefined])(
  'a site with the name %o is deleted by its id, never by nothing',
  async (name) => {
    for (const nothing of ['', ' ']) expect((await deleting(name, nothing)).done).toBe(0);
    expect((await deleting(name)).said).toContain('say --yes "17"');
    expect((await deleting(name, '17')).done).toBe(1);
  },
);

test('what the hint shows is what --yes takes', async () => {
  expect((await deleting(' Shop\u0007one')).said).toContain('say --yes "Shop one"');
  expect((await deleting(' Shop\u0007one', 'Shop one')).done).toBe(1);
  expect((await deleting(' Shop\u0007one', '17')).done).toBe(0);
});
