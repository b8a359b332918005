import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '#sandbox/demo/processes.ts';
import { frame, tell } from '../../harness/dc09.ts';
import { caseOf, isThere, nameOf } from '../../lan/mqtt/bugcases.ts';
import { type Rig, startRig } from '../../system-input/rig.ts';

/** Nothing of these goes over MQTT. The frames are of years ago, as they were recorded. */
describe.skipIf(!isThere)('reports of other systems about panels that call (needs ../shared)', () => {
  let rig: Rig;
  afterEach(() => rig?.close());

  async function called(n: number, account: string): Promise<(string | undefined)[]> {
    const port = await freePort();
    const dc09 = `dc09: { account: "${account}", clock: ignored }`;
    const panels = `panels: [ { id: west, profile: sia-dc09, partitions: { p1: "1" }, ${dc09} } ]\n`;
    rig = await startRig({
      ...{ broker: 'embedded', cloud: false, lan: false, partitions: 'partitions: [ { id: p1, name: One } ]\n' },
      sections: `${panels}dc09: { listen: "127.0.0.1:${port}" }\n`,
    });
    const answers: (string | undefined)[] = [];
    for (const { tcp = '', times = 1 } of caseOf(n).steps)
      for (let time = 0; time < times; time += 1) answers.push(await tell(port, tcp));
    return answers;
  }
  const told = async () => (await rig.events()).map(({ event }) => event);

  it(nameOf(55), async () => {
    const ack = frame('"ACK"1660L0#000110[]');
    expect(await called(55, '000110')).toEqual([ack, ack, ack]);
    expect(await told()).toMatchObject([{ class: 'test', kind: 'periodic_test', source: 'panel:west' }]);
  });

  it(nameOf(57), async () => {
    expect(await called(57, '22334455')).toEqual([frame('"ACK"0001L#22334455[]')]);
    const reported = { code: 'CQ', number: '1', term: 'remote' };
    expect(await told()).toMatchObject([
      { kind: 'armed_away', partition: 'p1', actor: '1', sia: 'CQ', data: { reported } },
    ]);
  });
});
