"""Model files that commit e57b3ce wrote, before tables had schemas: packed, with knockoffs that it drew."""

from __future__ import annotations

import base64
import zlib


def unpacked(name: str) -> bytes:
    """Return the content of a file."""
    return zlib.decompress(base64.b85decode("".join(FILES[name].split())))


FILES = {
    "latent": """
c-qZXdu$X%81GR8Y=V#EOcV?>n;0Q(%iZnX-n9u#B?3{g4I~v!uO8doJ$ku)oV$A!DGihW1`H{hptcdHf)I!yf(F4zmO^NJP$VUVAk`FT+G2qg
T1qXLIx{<aTwjp>rPJp7X1@J>zwb5E&YF~lS2-09E0W2Jyvc{dRBkyHi>e}(OD*CPh7sk}*Hul3X_1IQ(Ueds2{9v~z|T2;p5=uA>k&kTW0(k2
;`g!v#v2Ioyq^<Uf%UOMkO@Q>Z%H5+6gWW&`XinaE+{fmK=4Dhh^8yN3Ath^A<87(h-xad`rxTl;zdb^hw=~==XG8&LR4-hJP2ADufyyF2^m6^
EQwmw%z96gBO!{021Vjk^hr&~vVAs7HPHquWx5U0c~#Vuuwn8h=J8Y@tI3zh5{VO$cr&3(VU<@TBb9HYAxyB?%F#HfGD*hAA{$kd<<0icnOPnr
;kFo>@E(c)l3oT&y!UyLWUyqB2qKZ=!;(e*J_bt;Ne)V1w%3a!%RyokvACjws-W$HvLjJ-g`~&zsA?K$&Z7B#T!O7F<XG5gqm)OdA|FhO!j}OJ
L_*La5AEeV#YrMTl4T=X&=RVd%Jb?F9(E)RB%!@IzT%XObi)kuax^B5O~j2t1e@SvaYhgBK`O(-p{dZLBm@0vh6^H&6@1)yi1$ce=tr|293Ne?
arr_&nq_>$yP1f`(LEoF$R8YqiSg0F9Bw#M880U!V|-MQhW0W;W~{03Rj6hd(~ZqG+H@E+XVw#Zz$U}@rJ9gb*Cn{e?|WR+LUgp(&y1*+H#H@d
Ykon&;ztyVXdqV(JF?n`FpX9y<UlVYrEOv&E=L7e?Kqhr31Z?#VG_qp1*_w{DK|{fMA)nG6M21z2#&ELGc)t2Gta&Bc<u)avIf>u3x8X^tf4Kv
aAVq@Ws}}~=Wfwl<?ZG9I|}Ny$D_6Tei-!Zc~+ZJ`J>!Z`Ny{ByUtYCL_Vw8+t>U=Q||g&b`E=g@S~dA&2<~6g|{Buzo9t3XW^QehqX<vde_dP
`uyeFcuIHuI$d7#@;pO1UB70qW&4$5XICnxE{glVYWb_GFQc&PpVsPia(8~g(YDgYsjD}A8U5RB|2s=dC;CaE9lNt!L{AuIpGfp$MEA^W)WU(g
VDQ5^Z&dWQfUa7%@zl!mV7hzYKzMUg(jJ_Vd93+f2XNQjEbQOW0={^rt6+=kViNDzKY1axfIV~r+*$DP(Wj?hP4YN+$8H^J-0j}o3o3hFoZ1=e
1af`V)@g4vf_s&(X?^pXfbvaoO<j6B@Q12S+?n+`X!uSrtJlUr8dcQ4^UBv?(uG~|xf!2YHPvYC1GYX27`#rB^UuJp@+`5R0};H=lkXQn!)dgd
39g0MFBAM#^1YS#wGmtg!CfP`PJ+8ma5o9AdyF{U|8YM5-+o<Ra%9GaPS^3vtK0_`UGB5c^g~s*t+^R!;J2;aakT5OmLk}a4hssnyJ{iyD)*n(
yBOGD+5W!}{BaArXM7J%BDxbz0K*SlAi6!7pB?`iD942TM5pE1xXF1WPm4UCwNBp7`?CEH0uq<RI|WES0H<-`T(X}|Ts!X@z^>ya$*Tv<#`nJ$
*nJovJWf98dAJQn1}q!bPjoNo$8F2Tby=kE7OBs|uuwa}wGqE&=RH|=-RnsmXGz@O!A#unTfpvn53uLbM{xbXp38lwA9+Ln`t*aeM=TfV=eF7T
YUR3iaH{pKZ+CTH0{e3Y&8)*sNxOsFviKFPFLVtACN6dFxOFLsckB*s^4{us6DG7Kc^v!{Vs{Oj<B*(2tcRqIwet&qT>k>v)PJ@
""",
    "spread": """
c-qyJOK8+k6ozMf;R9X!0!wgbTJvg>8BkGZMU-|`i%e^JC%Nf_$zw<|gHng0_&_(+MZp%TMQFu>3pb*o3l|nat)jRP6d#C!E_~t(rJj3dq%%xy
JBka>4F9?J<ecx`oSWp!oCvipM$;S|A_Ij;)0lV{lfuZrJ`-oU+L#RTkrT8r@fw&wTFNuX1jaePjbUNnBiHa8EeKJF$t5mNq9ID!xL9Ul6lQ&_
xyZp3<z{W0Bvl5qVlIu!BxK_pw&^rc$V$}mbsSq$%MpcPJA~*ML?OzHROwjYiHcMuA}W!XKvg33f=E>+DuW7jJWo`T0ZdkG&*vGINn5S~9odYs
L0}<wtLy1$&ol$LWO}}XLb#YN3FfdLSe^?}0cLs%>**ltz*OWp8OKynL=w*>O*6^CEyr}zR4`5|2A0gEpbC;=8VHMg(yUivSVyX<tMy1wb%n{Z
h33|omfMN_jBmMNK#t7_cV{rH&>~B)WROB+mJpyp3_V-2GfYww9LvjGdkM%7LJiqg8kcgmlyT%r3_w_cQwd1-a>$3i=w*b)GJ?cPl?<q7MNuY<
PLv6zsIIJqI#!hF`VK~Jb+xj}N*rwheZ=c#atAUyNf&^^%Bng+ntCsj5TKe>3Oy(si0--YI=P{iLv|Kd#R3kis8S`Xl(MP0dD}D?RbrJ`$unYP
Gq$C}D_$ih#sNp3gkw|-l3A4#CP0p7VB4-10|>ytVdZPCk1boXAbzN!_S=4@@%En9TQ6p}9E=RN&fC88b7Gydqoe6W^VNZjHF)OII5)i1o4@z6
{bBE;-j#30`ufe|{ii=YTyj6Ye^6R0eIGy8KX~No!R6Y~b0Y`ZGsBJDtIm6eqodK2iP5HxUc~s(8!PPYjq3yF=4ki$lYwVf?(A}|JupUwp1kV$
w6LY;$Me2@_S>fBi!V}l7w<WI%K929TD0hAMar%C`Hsvj`dc@NecT{YyZ2lFuky}bdcXSeqIVlw8=g|%GW3%A3y)t@ADPBxy567e^M9|4{FQx~
zCJqPfBoSX{Ryafh*|
""",
    "exact": """
c-ozle{2(F7{}Kle}KV+Oi>~u%@K*wW8SY`?<Vlh1+}Qnf=si~*7M!n+x6D#-MqUlXzdo4p(ct!Mj(+)nfzfiRi}u8WCDqcu#80=V2n;?{6U3H
BtsS(5Z}91?b3mn&mZ^R`@QG+ywCHz&mFq1%(XNjNl9cw1=>)Oh^jOZGt4Bki7FzY8*;*k#Vmp(;s`3p#9}%^XhxHysR^X1al=p|M3pbRf~{mk
KTUHSM+;(r5e3qRHJTL|Kg$F}At3m<K$P@Fh!$wVq~%0m6iTX=r5d`sj}S7nQIlb+GSni3<E+}qg!bPKj3Ze#cKUZ~LR~SElB+r*m2p%XHfpGF
MhrnaWg<z3$*DL!rD={+sUQ`6U6per4YeZ8-G;*}=t>HgMLAFWimUmbQZ$pnElsGpf*TqPg&r(wv>Zor!b&Camqvx=8G+|1g%^1?02!(=z#x|5
1qyKiL6Kt|)rcsLiYbiDArT3p>}Oa=3j)uv6vDJtWIFA|FowvGQ*Eh?sd^JKTTE5AE$6}&`^grBT^`{%9Ad?xvkTL7lqB4#a56)VYnUPhAzH*S
En9-lC=_GXPQ!4e6hR<qhH^OnTz{n;hq^osbKi6f$&hR*3Uf%7W*nBPtF{WYt0S1wa2!gqOi@WP&c%khEww@|b**$}U@-#8@@`o+9!g7f$M)(7
7FRS=N<2k!e!euNVp2_Q?L*hj1|vwWkd2E`QZ1V5{9m)=IO*`*3>;;)AP$3yTAef$q-nFq2qYK47oPD=Sw5`{9r64zfA`_DqwDVMTK>e)<|Tun
@tVH2UvfLipXIsV|BkLKyz*>b-ca8$a{l??ds18dmVH}0hV9;uI#<5l*IHe^^x@@S9UA^Jy)6^HDBa|p{A{rMVp+jFh1FYF=M>h7x1+t=8*<?K
+#34Q-T_eIS=Jn^cny5lUDv+y#BNaiLv5FG{0Laz$Cr0)&Vd{HSCw10odsIWtGO3PJ_h&PaXSCO_!}T}GL_vpv<a-TPOe*^wu8gzx4akBb6|4q
<iW*dqd)`id`mZ+0w=a1t!}sz?D%QV0rFlATzY)L{oMmEfbENJe{73=4!oIqsv|r2E69sGAKj>%V9n}H$Kt1Vf%$Dqf)mZVz>lxctCj3g5c}f%
fxt^S06%TG+;`y=_`G7hr)TacDEkj<UnbtT)XD*`dF#8+u|wdS@`+mCE&X8L-E+n!_n!erkNw%BddI-Nm*@TV{@6jV`0@iEF3k6X{ng2>>1WP>
>|Mb{Bc0=*r{j~*&0p^U1KFoHM8&<JskyiAc>Vaa^F7%90`xgN$^
""",
}
