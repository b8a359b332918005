import { describe, expect, it } from 'vitest';
import { armed, house, world } from './world.ts';

const refused = { outcome: 'refused', error: { code: 'NOT_ALLOWED', field: 'code' } } as const;

describe('the role of who gives a code', () => {
  it.each(['owner', 'user', 'guard'] as const)('%s: disarms', (role) => {
    expect(armed().disarm({ role })).toMatchObject({ outcome: 'done' });
  });

  it('installer: arms, and does not disarm, which changes nothing', () => {
    expect(world().arm({ role: 'installer', skipExitDelay: true })).toMatchObject({ outcome: 'done' });
    const site = armed();
    const before = site.state.partitions;
    expect(site.disarm({ role: 'installer' })).toMatchObject(refused);
    expect(site.state.partitions).toBe(before);
  });

  it('I13: installer: does not change to a mode that protects less', () => {
    const site = armed(house(), 'away');
    expect(site.arm({ role: 'installer', mode: 'home' })).toMatchObject(refused);
    expect(site.arm({ role: 'guard', mode: 'home' })).toMatchObject({ outcome: 'done' });
  });

  it('guard: arms, and leaves no zone out, by name or by force', () => {
    const site = world();
    expect(site.arm({ role: 'guard', force: true })).toMatchObject(refused);
    expect(site.arm({ role: 'guard', bypass: ['2'] })).toMatchObject(refused);
    expect(site.arm({ role: 'guard', bypass: [] })).toMatchObject({ outcome: 'done' });
    expect(world().arm({ role: 'user', force: true })).toMatchObject({ outcome: 'done' });
  });

  it('auditor: commands nothing', () => {
    expect(world().arm({ role: 'auditor' })).toMatchObject(refused);
    expect(armed().disarm({ role: 'auditor' })).toMatchObject(refused);
  });
});
