import { describe, expect, it } from 'vitest';
import { type Caller, denial, permissions, type Role, roles, type Scope, scopes } from '#lan/access/permissions.ts';
import { cloudOperations, lanOperations } from '#lan/http/index.ts';

const person = (role: Role, mustChange = false): Caller => ({
  kind: 'person',
  id: 'anna',
  role,
  session: 's',
  mustChange,
});
const key = (scope: Scope, role: Role = 'owner'): Caller => ({ kind: 'key', id: 'k', scopes: [scope], role });

/** Operation: owner, operator, viewer, installer (`-` for no), then the scope by which a key may (`any`: each key). Written apart from the table. */
const matrix = `
getStatus                 O P V I state
listZones                 O P V I state
listPartitions            O P V I state
getPartition              O P V I state
listDevices               O P V I state
listSchedules             O P V I state
listCameras               O P V I state
listSpeakers              O P V I state
listEvents                O P V I events
streamEvents              O P V I events
getMetrics                O P - I metrics
getSiteMirror             O P - I state
listContacts              O P - I -
getOutbox                 O P - I outbox
getOutboxHistory          O P - I outbox
listWaiting               O P - I outbox
listParked                O P - I outbox
getParked                 O P - I outbox
listGaps                  O P - I outbox
retryParked               O P - I -
dropParked                O - - - -
giveCommand               O P - - commands
giveTestCommand           O P - I commands
postponeSchedule          O P - - commands
listVerifications         O P - - verifications
getVerification           O P - - verifications
answerVerificationLocally O P - - verifications:answer
addVerification           O - - - verifications:ask
listMedia                 O P V - media
getMedia                  O P V - media
exportMedia               O P - - media
readMedia                 O P - - media
cameraEvents              O P - I -
cameraSnapshot            O P - I cameras
cameraCertificate         O - - I -
trustCamera               O - - I -
listMessages              O P V I audio
listPlaybacks             O P V I audio
getPlayback               O P V I audio
playMessage               O P - I audio:play
cancelPlaybacks           O P - I audio:play
importMessage             O - - I -
removeMessage             O - - I -
getLog                    O - - I -
getLogLevels              O - - I -
setLogLevels              O - - I -
getConfig                 O - - I -
checkConfig               O - - I -
changeConfig              O - - I -
discoverCameras           O - - I -
inspectCamera             O - - I -
listCloudDevices          O - - I -
getDevicePlan             O - - I -
syncDevices               O - - I -
restart                   O - - I -
forgetCloud               O - - I -
factoryReset              O - - - -
listBundleContents        O - - I -
makeSupportBundle         O - - I -
backupStep                - - - - -
listAudioMessages         O P V I audio
playAudioMessage          O P - I audio:play
listReferencedAudioMessages O P V I audio
playReferencedAudioMessage O P - I audio:play
armPartition              O P - - commands
disarmPartition           O P - - commands
bypassZones               O P - - commands
readPartition             O P V I state
captureSnapshot           O P - I cameras
getTakenPicture           O P - I cameras
dispatchResponder         O P - - dispatch
getAuditLog               O - - - audit
listUsers                 O - - - -
addUser                   O - - - -
setUserCode               O - - - -
removeUser                O - - - -
openAudit                 - - - - -
listAudit                 - - - - -
verifyAudit               - - - - -
exportAudit               - - - - -
exportedAudit             - - - - -
listInputs                - - - - -
getCloudActivity          - - - - -
setSecurityType           - - - - -
noteCloudChange           - - - - -
logout                    O P V I -
getSelf                   O P V I any
setOwnPassword            O P V I -
listOwnSessions           O P V I -
endOwnSession             O P V I -
listSessions              O - - - -
endSession                O - - - -
listPeople                O - - I -
addPerson                 O - - I -
limitPerson               O - - - -
removePerson              O - - I -
listKeys                  O - - I -
addKey                    O - - I -
removeKey                 O - - I -
showClaimCode             - - - - -
resetAccess               - - - - -
`
  .trim()
  .split('\n')
  .map((line) => line.split(/\s+/));
const open = ['getHealth', 'getReady', 'getIdentity', 'getAuthority', 'getOpenApi', 'claim', 'login'];

describe('the table of operations', () => {
  it('has every operation that is served', () => {
    const served = { ...lanOperations, ...cloudOperations };
    expect(Object.keys(served).filter((id) => !Object.hasOwn(permissions, id))).toEqual([]);
  });

  it('asks of nobody what the operation itself asks of everybody', () => {
    const withoutAuth = Object.values({ ...lanOperations, ...cloudOperations }).filter(({ auth }) => auth.length === 0);
    expect(withoutAuth.map(({ id }) => id).sort()).toEqual([...open].sort());
  });

  it('is the one that is written here', () => {
    expect([...matrix.map(([id]) => id), ...open].sort()).toEqual(Object.keys(permissions).sort());
  });

  it.each(matrix)('%s', (operation = '', ...expected) => {
    const may = roles.map((role) => denial(person(role), operation) === undefined);
    expect(may).toEqual(expected.slice(0, 4).map((letter) => letter !== '-'));
    const opening = scopes.filter((scope) => denial(key(scope), operation) === undefined);
    expect(opening).toEqual(expected[4] === '-' ? [] : expected[4] === 'any' ? scopes : [expected[4]]);
    expect(denial({ kind: 'nobody' }, operation)).toBeDefined();
    expect(denial({ kind: 'local' }, operation)).toBeUndefined();
  });

  it('refuses everybody what it does not have', () => {
    for (const operation of ['armSite', '', 'toString', '__proto__', 'constructor', 'GETSTATUS'])
      for (const caller of [person('owner'), key('state'), { kind: 'nobody' }, { kind: 'local' }] as const)
        expect(denial(caller, operation), operation).toBe('unknown');
  });
});

describe('a key', () => {
  it('may no more than whoever made it, whatever its scopes say', () => {
    for (const role of roles)
      for (const operation of Object.keys(permissions)) {
        const byKey = denial({ kind: 'key', id: 'k', scopes, role }, operation) === undefined;
        if (byKey) expect(denial(person(role), operation), `${operation} of ${role}`).toBeUndefined();
      }
  });

  it('without scopes opens nothing but what is open, and who it is', () => {
    const may = Object.keys(permissions).filter(
      (id) => denial({ kind: 'key', id: 'k', scopes: [], role: 'owner' }, id) === undefined,
    );
    expect(may.sort()).toEqual([...open, 'getSelf'].sort());
  });

  it('gets at no people, users, codes, keys or sessions', () => {
    const may = Object.keys(permissions).filter(
      (id) => denial({ kind: 'key', id: 'k', scopes, role: 'owner' }, id) === undefined,
    );
    expect(may.filter((id) => /User|Person|People|Key|Session|Password|Claim|Reset|Self/.test(id))).toEqual([
      'getSelf',
    ]);
  });
});

describe('an account', () => {
  it('whose password somebody else gave may change it and leave', () => {
    for (const role of roles) {
      const may = Object.keys(permissions).filter((id) => denial(person(role, true), id) === undefined);
      expect(may.sort()).toEqual([...open, 'getSelf', 'logout', 'setOwnPassword'].sort());
    }
  });

  it('of an installer gets at no code, picture of an event or command', () => {
    const may = Object.keys(permissions).filter((id) => denial(person('installer'), id) === undefined);
    expect(
      may.filter((id) =>
        /User|Code|Media|giveCommand|postpone|Verification|(arm|disarm)Partition|bypassZones|dispatch/.test(id),
      ),
    ).toEqual([]);
  });
});
