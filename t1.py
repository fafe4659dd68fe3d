import warnings, itertools
warnings.simplefilter("error")
import numpy as np, fastpsr as fp
from sklearn import metrics as sk
rng=np.random.default_rng(1)
bad=0
def chk(name,a,b,tol=1e-12):
    global bad
    if not (abs(a-b)<=tol or (np.isnan(a) and np.isnan(b))):
        bad+=1
        if bad<40: print("DIFF",name,a,b,a-b)
for it in range(400):
    n=rng.integers(2,60)
    y=rng.integers(0,2,n)
    if y.min()==y.max(): y[0]=1-y[0]
    s=rng.choice([rng.normal(size=n),rng.integers(0,4,n).astype(float),np.zeros(n)])
    if rng.random()<.2: s[rng.integers(n)]=np.inf*rng.choice([-1,1])
    w=None
    if rng.random()<.6:
        w=rng.choice([rng.random(n),rng.integers(0,3,n).astype(float)])
        if w[y==1].sum()==0 or w[y==0].sum()==0: w=None
    try: d=fp.Predictions.from_raw_scores(y,s,sample_weight=w)
    except Exception as e: print("ERR",e); continue
    fin=np.clip(s,-1e30,1e30)
    keep=np.ones(n,bool) if w is None else w>0
    ww=None if w is None else w[keep]
    yk,fk=y[keep],fin[keep]
    chk("AUC",fp.AUC()(d),sk.roc_auc_score(yk,fk,sample_weight=ww))
    chk("AP",fp.AveragePrecision()(d),sk.average_precision_score(yk,fk,sample_weight=ww))
    for m in (0.01,.1,.5,.99):
        chk(f"pAUC{m}",fp.AUC(max_fpr=m)(d),sk.roc_auc_score(yk,fk,sample_weight=ww,max_fpr=m))
        chk(f"pAUCn{m}",fp.AUC(max_fnr=m)(d),sk.roc_auc_score(1-yk,-fk,sample_weight=ww,max_fpr=m))
    p,r,t=sk.precision_recall_curve(yk,fk,sample_weight=ww)
    for P in (.1,.3,.5,.7,.9,1):
        ok=p>=P*(1-1e-12)
        chk(f"RaP{P}",fp.RecallAtPrecision(P)(d),r[ok].max())
        op=fp.RecallAtPrecision(P).operating_point(d)
        th=fp.Threshold(fp.RecallAtPrecision(P))(d) if True else 0
        if not (op.threshold==th or (np.isnan(th) and np.isnan(op.threshold))): print("TH",op,th)
        acc=s>=op.threshold
        wa=np.ones(n) if w is None else w
        rec=(wa*acc*(y==1)).sum()/(wa*(y==1)).sum()
        chk("op rec",1-op.p_miss,rec)
        chk("op fa",op.p_fa,(wa*acc*(y==0)).sum()/(wa*(y==0)).sum())
        chk("op rec2",rec,fp.RecallAtPrecision(P)(d))
    c=fp.precision_recall(d)
    for T,P_,R_ in zip(c.threshold,c.precision,c.recall):
        acc=s>=T
        if T==np.inf and T is not c.threshold[0] and P_==1 and R_==0: continue
        chk("pr p",P_,(wa*acc*(y==1)).sum()/(wa*acc).sum()); chk("pr r",R_,(wa*acc*(y==1)).sum()/(wa*(y==1)).sum())
    # posteriors
    q=rng.choice([rng.random(n),rng.integers(0,5,n)/4])
    pr=None if rng.random()<.5 else [1-(x:=rng.random()),x]
    dq=fp.Predictions.from_posteriors(y,q,sample_weight=w,priors=pr)
    W=np.ones(n) if w is None else w.copy()
    if pr is not None:
        W=np.where(y==1,pr[1]/W[y==1].sum(),pr[0]/W[y==0].sum())*W
    for th in (None,0,.25,.5,.75,1):
        dec=(q>.5) if th is None else q>=th
        dec=dec.astype(int)
        D=lambda r,b=1.: fp.DecisionRate(r,th,b)(dq)
        chk("acc",D("accuracy"),sk.accuracy_score(y,dec,sample_weight=W))
        chk("bacc",D("balanced accuracy"),((W*(dec==1)*(y==1)).sum()/(W*(y==1)).sum()+(W*(dec==0)*(y==0)).sum()/(W*(y==0)).sum())/2)
        tp=(W*dec*y).sum(); fpq=(W*dec*(1-y)).sum(); fn=(W*(1-dec)*y).sum()
        if tp+fpq>0: chk("prec",D("precision"),tp/(tp+fpq))
        elif not np.isnan(D("precision")): print("prec nan",D("precision"))
        chk("rec",D("recall"),tp/(tp+fn))
        for b in (1.,.5,2.):
            chk("F",D("F",b),(1+b*b)*tp/((1+b*b)*tp+b*b*fn+fpq))
        chk("sel",D("selection rate"),(W*dec).sum()/W.sum())
        chk("fpr",D("false positive rate"),fpq/(W*(1-y)).sum())
    # AP with priors
    chk("APpri",fp.AveragePrecision()(dq),sk.average_precision_score(y[keep],q[keep],sample_weight=W[keep]))
    chk("brier",fp.BrierScore(normalized=False,per_class=False)(dq)*1.0,(W/W.sum()*2*(q-y)**2).sum())
    # ECE naive
    for bins,norm,on in itertools.product((5,[0,.1,.5,1]),(1,"max"),("class","confidence","classwise")):
        if on=="classwise" and norm!=1: continue
        ed=np.arange(6)/5 if bins==5 else np.array(bins)
        ev=[]
        if on=="class": ev=[(q,y==1)]
        elif on=="confidence":
            cf=np.maximum(q,1-q); ev=[(cf,np.where(q>.5,1,0)==y)]
        else: ev=[(1-q,y==0),(q,y==1)]
        tot=0
        for post,hit in ev:
            b=np.clip(np.searchsorted(ed,post,"left")-1,0,len(ed)-2)
            ds=[]
            for m in range(len(ed)-1):
                i=(b==m)&(W>0)
                if i.any():
                    wm=W[i].sum(); dd=abs((W*hit)[i].sum()-(W*post)[i].sum())
                    ds.append(dd/wm if norm=="max" else dd/W.sum())
            tot+=(max(ds) if norm=="max" else sum(ds))
        chk(f"ECE{bins}{norm}{on}",fp.ECE(bins,on,norm)(dq),tot/len(ev))
print("bad",bad)
