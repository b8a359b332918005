import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { commission, config, eventIds, install, installed, journal, newBox, property, tell } from './box.ts';
import type { Machine } from './machine.ts';
import { versions } from './versions.ts';

let box: Machine;
beforeEach(async () => {
  box = await newBox();
});
afterEach(() => box.remove());

describe('the first installation', () => {
  test('makes user, configuration and service, waits until it is ready, and says what comes next', async () => {
    const said = await installed(box, versions.now);
    expect(await property(box, 'ActiveState')).toBe('active');
    expect(said).toContain('siteward setup');
    expect(said).toContain('siteward claim-code');
    expect(await box.sh('stat -c "%U:%G %a" /etc/siteward /etc/siteward/siteward.yaml')).toBe(
      'siteward:siteward 750\nsiteward:siteward 660',
    );
    expect(await box.sh('id -nG siteward')).toBe('siteward audio');
    expect(await box.sh('siteward --version')).toBe(versions.now);
    expect(await box.sh('siteward check')).toBe(`${config}: no errors`);
    expect(await box.sh('siteward claim-code --json')).toContain('"claim_code"');
    expect(await box.sh('dpkg --verify siteward')).toBe('');
    // Where doctor and its like send a person.
    expect(await box.sh('ls /usr/share/doc/siteward/docs')).toContain('operations.md');
    const { err } = await box.run('dpkg-query', '--control-show', 'siteward', 'conffiles');
    expect(err).not.toBe('');
  });

  test('keeps what the program is made into, which only root may write and each start takes', async () => {
    await installed(box, versions.now);
    const cache = '/usr/lib/siteward/cache';
    expect(await box.sh(`find ${cache} ! -user root -o -perm /022`)).toBe('');
    await box.sh('mkdir -p /run/systemd/system/siteward.service.d');
    await box.write(
      '/run/systemd/system/siteward.service.d/tell.conf',
      '[Service]\nEnvironment=NODE_DEBUG=siteward-start\n',
    );
    await box.sh('systemctl daemon-reload; systemctl restart siteward');
    for (const name of ['run.cjs', 'store.cjs'])
      expect(await box.sh(`journalctl -u siteward -o cat --no-pager | grep -c "${name}: taken"`)).not.toBe('0');
    await box.sh(`rm -r ${cache}; systemctl restart siteward`);
    expect(await property(box, 'ActiveState')).toBe('active');
    await box.sh('/usr/lib/siteward/bin/warm-up; dpkg --remove siteward');
    expect((await box.run('test', '-e', '/usr/lib/siteward')).code).not.toBe(0);
  });

  test('is followed by "siteward setup", which makes it the box of a site', async () => {
    await installed(box, versions.now);
    await box.sh(
      'siteward setup --non-interactive --only site --set site.external_id=shop-7 --set site.timezone=Europe/Berlin --set bridge.external_id=sw-7',
    );
    const status = await box.sh('siteward status --json');
    expect(await box.sh(`stat -c "%U" ${config}`)).toBe('siteward');
    expect(await box.sh(`grep external_id ${config}`)).toBe('  external_id: shop-7\n  external_id: sw-7');
    expect(JSON.parse(status)).toMatchObject({ config: { last_good: false } });
    expect(await box.sh(`cat ${config}`)).toContain('listen: 0.0.0.0:8443');
    expect(await box.sh('journalctl -u siteward -o cat --no-pager')).not.toContain('cannot change while siteward runs');
  });

  test('takes a configuration that is there already', async () => {
    await box.sh('mkdir /etc/siteward');
    const text =
      'site: { id: "1", external_id: prepared, timezone: UTC }\nbridge: { external_id: sw-1 }\npartitions: [ { id: p1, name: P } ]\n';
    await box.write(config, text);
    await installed(box, versions.now);
    expect(await box.sh(`cat ${config}`)).toBe(text.trimEnd());
    expect(await box.sh(`stat -c %U ${config}`)).toBe('siteward');
  });

  test('runs where a broker has the port of MQTT already, and says so', async () => {
    await box.sh(
      `systemd-run --quiet --unit=broker perl -MIO::Socket::INET -e 'my $door = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 1883) or die; sleep'`,
    );
    await vi.waitUntil(async () => (await box.sh('ss -Htln')).includes('127.0.0.1:1883'), { timeout: 30_000 });
    await installed(box, versions.now);
    expect(await property(box, 'ActiveState')).toBe('active');
    expect(await box.sh('siteward status')).toMatch(/broker +(degraded|down) .*1883/);
  });

  test('without enough room it says how much is missing, and nothing is left', async () => {
    await box.sh('mkdir -p /usr/lib/siteward; mount -t tmpfs -o size=64m tmpfs /usr/lib/siteward');
    const { code, err } = await install(box, versions.now);
    expect(code).not.toBe(0);
    expect(err).toMatch(/there is no room: \/usr\/lib\/siteward needs \d+ MiB, 6\d MiB are free/);
    expect((await box.run('test', '-e', '/usr/bin/siteward')).code).not.toBe(0);
    expect((await box.run('getent', 'passwd', 'siteward')).code).not.toBe(0);
    await box.sh('umount /usr/lib/siteward');
    await installed(box, versions.now);
    expect(await property(box, 'ActiveState')).toBe('active');
  });

  test('with a state directory that is full it protects the site all the same, and says what is wrong', async () => {
    await box.sh('mkdir /var/lib/siteward; mount -t tmpfs -o size=8m,mode=700 tmpfs /var/lib/siteward');
    await box.run('sh', '-c', 'cat /dev/zero > /var/lib/siteward/other');
    const { err } = await install(box, versions.now);
    expect(await property(box, 'ActiveState'), err + (await journal(box))).toBe('active');
    await commission(box);
    await tell(box, 'smoke_1', { smoke: true, battery: 97 });
    expect(await box.sh('siteward status')).toContain('IN ALARM: fire');
    expect(await box.sh('siteward status')).toMatch(/full|no space|room/i);
    await box.sh('rm /var/lib/siteward/other');
  });
});

describe('taking it away', () => {
  test('remove keeps configuration and data, and a new installation finds them', async () => {
    await installed(box, versions.now);
    await commission(box);
    await tell(box, 'smoke_1', { smoke: true, battery: 97 });
    const known = await eventIds(box);
    const { err } = await box.run('dpkg', '--remove', 'siteward');
    expect(err).toContain('/var/lib/siteward');
    expect((await box.run('systemctl', 'is-active', 'siteward')).out).not.toBe('active\n');
    expect((await box.run('test', '-e', '/usr/lib/siteward/bin/node')).code).not.toBe(0);
    await box.sh('test -e /var/lib/siteward/site.db');
    await installed(box, versions.now);
    expect(known.length).toBeGreaterThan(0);
    expect(await eventIds(box)).toEqual(expect.arrayContaining(known));
  });

  test('purge leaves nothing', async () => {
    await installed(box, versions.now);
    await commission(box);
    await box.sh('dpkg --purge siteward');
    expect(
      await box.sh(
        'find / -xdev -iname "*siteward*" -not -path "/proc/*" -not -path "/packages/*" -not -path "/var/log/*" -not -path "/var/lib/dpkg/*" -not -path "/run/credentials/*" -not -path "/sys/*" 2>/dev/null || :',
      ),
    ).toBe('');
    for (const what of ['passwd', 'group']) expect((await box.run('getent', what, 'siteward')).code).toBe(2);
    expect((await box.run('systemctl', 'cat', 'siteward')).code).not.toBe(0);
    expect((await box.run('dpkg-query', '-s', 'siteward')).code).not.toBe(0);
  });

  test('purge takes the data on another disk away, to which the folder is a link', async () => {
    await installed(box, versions.now);
    await box.sh('systemctl stop siteward; mkdir /srv/disk; mv /var/lib/siteward /srv/disk/');
    await box.sh('ln -s /srv/disk/siteward /var/lib/siteward; test -s /srv/disk/siteward/site.db');
    const { err } = await box.run('dpkg', '--purge', 'siteward');
    expect(err).toContain('/var/lib/siteward was a link to /srv/disk/siteward: what was in it is gone');
    expect(await box.sh('ls /srv/disk; ls /var/lib | grep siteward || :')).toBe('');
  });
});
