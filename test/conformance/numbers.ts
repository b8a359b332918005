/** T: the specification says it. D: it follows from what it says. G: a gap, and our safe choice. */
export type Kind = 'T' | 'D' | 'G';

const all: Readonly<Record<Kind, string>> = {
  T: `001 002 003 004 005 009 016 018 022 030 032 033 034 035 036 040 041 050 051 054 056 057 060 061 062 066 067 068
    069 070 071 080 082 087 089 100 102 110 120 121 122 126 130 132 133 135 140 144 150 151 160 161 163 166 170 171
    174 175 178`,
  D: '006 037 038 052 055 058 063 072 084 091 103 123 125 127 134 136 137 157 167 172 177',
  G: `007 008 010 011 012 013 014 015 017 019 020 021 023 031 039 042 043 053 064 065 073 074 075 081 083 085 086 088
    090 092 093 101 104 111 124 128 129 131 138 141 142 143 145 152 153 154 155 156 162 164 165 168 173 176 179`,
};

/** The numbers of sections A to L of the checklist, written down by hand, with the kind of each. */
export const kindOf: ReadonlyMap<string, Kind> = new Map(
  (['T', 'D', 'G'] as const).flatMap((kind) => all[kind].split(/\s+/).map((number) => [`S-${number}`, kind] as const)),
);

/** What cannot be seen from outside, and why. Section M (S-190 ...) is the client's as a whole. */
export const notTestable: ReadonlyMap<string, string> = new Map([
  ['S-022', 'tells what a client may send and must tolerate; an answer of version 0.8 does not say its version'],
  ['S-128', 'tells by what a client matches the results of a bulk call'],
  ['S-138', 'tells what a client does with a partial device'],
]);

/** The number a title begins with. */
export const numberIn = (title: string): string | undefined => /^(S-\d{3}) /.exec(title)?.[1];
