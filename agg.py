import pickle,sys
from collections import Counter
from run import D
from interlock.apps.contracts.fields.matching import _same
res=pickle.load(open('/tmp/cf/m.pkl','rb'))
for sel in (True,False):
    c=Counter()
    for i,j,t in res:
        if D[i]['look']!=sel: continue
        x=next(x for x in j.fields if x.field=='parties')
        if x.right or not x.answered: c['right' if x.right else 'none']+=1; continue
        hit=sum(any(_same(n,k) for p in x.answer for k in p) for n in x.value)
        c[f'found {len(x.value)} answer {len(x.answer)} hit {hit}']+=1
    print(sel,c)
