import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { withTraits } from '#box/folders.ts';
import { sitePlan } from '#config/index.ts';
import { minimal, settings } from '../config/fixture.ts';

const presets = fileURLToPath(new URL('../../config/panels', import.meta.url));

describe('the time a panel may take for a command', () => {
  const planOf = (profile: string, more = '') => {
    const given = settings(`${minimal}panels: [ { id: main, profile: ${profile}, partitions: { p1: "1" } } ]\n${more}`);
    return withTraits(sitePlan(given), given, [presets]);
  };

  it('is what its profile says where that is longer than the site’s', () => {
    expect(planOf('ring-mqtt').partitions[0]).toMatchObject({ panel: 'main', confirmMs: 60_000 });
    expect(planOf('pai').partitions[0]?.confirmMs).toBeUndefined();
    expect(planOf('ring-mqtt', 'arming: { confirm_timeout: 60s }\n').partitions[0]?.confirmMs).toBeUndefined();
  });

  it('comes with what it says of a change of mode', () => {
    expect(planOf('dsc-keybus').partitions[0]).toMatchObject({ panel: 'main', changeMode: false });
    expect(planOf('pai').partitions[0]).not.toHaveProperty('changeMode');
    const partitions = '{ id: p1, name: One }, { id: p2, name: Two }';
    const text = minimal.replace('{ id: p1, name: Offices }', partitions);
    const given = settings(`${text}panels: [ { id: main, profile: dsc-keybus, partitions: { p1: "1" } } ]\n`);
    expect(withTraits(sitePlan(given), given, [presets]).partitions[1]).not.toHaveProperty('changeMode');
  });

  it('comes with what it says of bypasses while it is armed', () => {
    const own = mkdtempSync(join(tmpdir(), 'siteward-profiles-'));
    const pai = JSON.parse(readFileSync(join(presets, 'pai.json'), 'utf8'));
    writeFileSync(join(own, 'evo.json'), JSON.stringify({ ...pai, id: 'evo', bypass_armed: false }));
    const given = settings(`${minimal}panels: [ { id: main, profile: evo, partitions: { p1: "1" } } ]\n`);
    expect(withTraits(sitePlan(given), given, [own, presets]).partitions[0]).toMatchObject({ bypassArmed: false });
    rmSync(own, { recursive: true });
    expect(planOf('pai').partitions[0]).not.toHaveProperty('bypassArmed');
  });

  it('comes with the modes it can be told to arm in', () => {
    const modesOf = (profile: string) => planOf(profile).partitions[0]?.modes;
    expect(modesOf('pai')).toEqual(['away', 'home', 'night']);
    expect(modesOf('elk-readonly')).toEqual([]);
    expect(modesOf('nobody')).toBeUndefined();
  });

  it('is the site’s where there is no such profile', () => {
    expect(planOf('nobody').partitions[0]?.confirmMs).toBeUndefined();
  });
});
