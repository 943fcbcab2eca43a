// SPDX-License-Identifier: Apache-2.0
// In place of a CLBlast whose parameters cannot be changed. Its products are only looked for.
extern "C" {
void CLBlastSgemm() {}
void CLBlastDgemm() {}
}
