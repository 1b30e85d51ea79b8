import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { canonicalIpRange, ipRangeProblem, isIpRange } from './ip-range.ts'

describe('an entry of an IP access list', () => {
  it('is an address or a range', () => {
    for (const text of [
      '192.0.2.7',
      '10.0.0.0/8',
      '0.0.0.0/0',
      '192.0.2.7/32',
      '::1',
      '2001:db8::/32',
      '::/0',
      '::1/128',
    ]) {
      assert.ok(isIpRange(text), text)
      assert.equal(ipRangeProblem('source', text), undefined)
    }
  })

  it('is the same in every spelling, and only then', () => {
    for (const [canonical, ...spellings] of [
      ['0:0:0:0:0:0:0:1/128', '::1', '0:0:0:0:0:0:0:1', '0::0001', '::1/128', '::0.0.0.1'],
      ['8193:3512:0:0:0:0:0:0/32', '2001:db8::/32', '2001:DB8:0::/32', '2001:db8:ffff::1/32'],
      ['8193:3512:32768:0:0:0:0:0/33', '2001:db8:8000::/33', '2001:db8:ffff::/33'],
      ['10.0.0.0/8', '10.0.0.0/8', '10.1.2.3/8'],
      ['10.1.2.128/25', '10.1.2.128/25', '10.1.2.255/25'],
      ['192.0.2.7/32', '192.0.2.7', '192.0.2.7/32'],
      ['0.0.0.0/0', '0.0.0.0/0', '255.255.255.255/0'],
      ['0:0:0:0:0:0:0:0/0', '::/0', 'ffff::/0'],
      ['nonsense', 'nonsense'],
    ]) {
      for (const spelling of spellings) assert.equal(canonicalIpRange(spelling), canonical, spelling)
    }
  })

  it('is nothing else', () => {
    for (const text of [
      '',
      '10.0.0',
      '10.0.0.256',
      '010.0.0.1',
      '2130706433',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/08',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '10.0.0.0/255.0.0.0',
      '10.0.0.0 /8',
      ' 10.0.0.1',
      'fe80::1%eth0',
      '2001:db8::/129',
      'localhost',
      '*',
    ]) {
      assert.ok(!isIpRange(text), text)
      assert.deepEqual(ipRangeProblem('ipAccessList[0].source', text), {
        path: 'ipAccessList[0].source',
        detail: `ipAccessList[0].source must be an IP address or a range such as 10.0.0.0/8, not ${JSON.stringify(text)}`,
      })
    }
  })
})
