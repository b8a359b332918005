import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machinesFolder, makePackage, makeSystem } from '../test/system/build.ts';
import { Machine } from '../test/system/machine.ts';
import { whyNot } from '../test/system/needs.ts';
import { type Figure, type Measurement, median, rounded } from './figure.ts';
import { bootFigures } from './package-boot.ts';

const rounds = 5;
const version = '1.0.0';

/** The Debian package: how large, how long until it runs, and what systemd sees of its start. */
export const packaged: Measurement = {
  name: 'package',
  title: 'The Debian package',
  about: `Both packages are built; the one for amd64 is installed with \`dpkg -i\` in a Debian 12 of its own (systemd-nspawn, no network), which
returns once the service is ready. Then the service is restarted ${rounds} times after one that is not counted: by systemd's own clock from the start
of the process, sandbox and \`bin/start\` included, until it says READY, and from the stop until it has ended. The configuration is that of the first day.
At last the machine is started anew, three times: from the start of its systemd.`,
  async run(tell) {
    const why = whyNot();
    if (why !== undefined) {
      tell(`left out: ${why}`);
      return [];
    }
    const packages = mkdtempSync(join(tmpdir(), 'siteward-packages-'));
    try {
      tell('building both packages');
      makePackage(packages, version);
      const sizes = readdirSync(packages)
        .filter((name) => name.endsWith('.deb'))
        .map((name): Figure => {
          const mb = rounded(statSync(join(packages, name)).size / 1e6);
          const arch = name.split('_').at(-1)?.replace('.deb', '');
          return { name: `package for ${arch}`, value: mb, unit: 'MB', goal: 'at most 35 MB', met: mb <= 35 };
        });
      return [...sizes, ...(await onMachine(packages, tell))];
    } finally {
      rmSync(packages, { recursive: true, force: true });
    }
  },
};

async function onMachine(packages: string, tell: (progress: string) => void): Promise<Figure[]> {
  const folder = machinesFolder();
  mkdirSync(folder, { recursive: true });
  const lower = makeSystem(folder);
  const box = new Machine({ folder: mkdtempSync(join(folder, 'bench-')), lower, packages });
  try {
    await box.boot();
    tell('installing');
    const began = performance.now();
    await box.sh(`dpkg -i /packages/siteward_${version}_amd64.deb`);
    const installS = (performance.now() - began) / 1000;
    const installedKib = Number(await box.sh(`dpkg-query -W -f '\${Installed-Size}' siteward`));
    const [ready, stop]: [number[], number[]] = [[], []];
    for (let round = 0; round <= rounds; round += 1) {
      tell(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
      const before = performance.now();
      await box.sh('systemctl stop siteward');
      const stopMs = performance.now() - before;
      await box.sh('systemctl start siteward');
      const at = async (name: string) =>
        Number(await box.sh(`systemctl show siteward --property=${name} --value`)) / 1000;
      const readyMs = (await at('ActiveEnterTimestampMonotonic')) - (await at('ExecMainStartTimestampMonotonic'));
      if (round === 0) continue;
      ready.push(readyMs);
      stop.push(stopMs);
    }
    const readyMs = rounded(median(ready));
    return [
      { name: 'installed', value: rounded((installedKib * 1024) / 1e6), unit: 'MB' },
      { name: 'dpkg -i until it runs', value: rounded(installS), unit: 's', goal: 'under 5 s', met: installS < 5 },
      { name: 'exec to READY', value: readyMs, unit: 'ms', goal: 'at most 400 ms', met: readyMs <= 400 },
      {
        name: 'systemctl stop',
        value: rounded(median(stop)),
        unit: 'ms',
        goal: 'within 2 s',
        met: median(stop) <= 2000,
      },
      ...(await bootFigures(box, tell)),
    ];
  } finally {
    await box.remove();
  }
}
