import warnings
warnings.simplefilter("error")
import numpy as np, fastpsr as fp
from sklearn import metrics as sk
rng=np.random.default_rng(1)
bad=0
for it in range(60):
    K=int(rng.choice([3,5,100])); n=int(rng.integers(K,4*K+5))
    y=np.r_[np.arange(K),rng.integers(0,K,n-K)]; rng.shuffle(y)
    z=rng.normal(size=(n,K))*2; z[np.arange(n),y]+=1
    q=np.exp(z); q/=q.sum(1,keepdims=True)
    w=rng.random(n) if rng.random()<.5 else None
    d=fp.Predictions.from_posteriors(y,q,sample_weight=w)
    def c(nm,a,b):
        global bad
        if not abs(a-b)<1e-12: bad+=1; print(nm,K,a,b)
    ap=[sk.average_precision_score(y==k,q[:,k],sample_weight=w) for k in range(K)]
    au=[sk.roc_auc_score(y==k,q[:,k],sample_weight=w) for k in range(K)]
    c("macro",fp.AUC("macro")(d),np.mean(au)); c("ap macro",fp.AveragePrecision("macro")(d),np.mean(ap))
    W=np.ones(n) if w is None else w
    pri=np.array([W[y==k].sum() for k in range(K)])/W.sum()
    c("weighted",fp.AUC("weighted")(d),pri@au); c("apw",fp.AveragePrecision("weighted")(d),pri@ap)
    if K<20:
        pr=[]
        for a in range(K):
            for b in range(K):
                if a!=b:
                    i=(y==a)|(y==b); pr.append(sk.roc_auc_score(y[i]==a,q[i,a],sample_weight=W[i]))
        c("ovo",fp.AUC("ovo")(d),np.mean(pr))
        if w is None: c("ovo sk",fp.AUC("ovo")(d),sk.roc_auc_score(y,q,multi_class="ovo"))
        c("mfpr",fp.AUC("macro",max_fpr=.3)(d),np.mean([sk.roc_auc_score(y==k,q[:,k],sample_weight=w,max_fpr=.3) for k in range(K)]))
    if w is None: c("skw",fp.AUC("weighted")(d),sk.roc_auc_score(y,q,multi_class="ovr",average="weighted"))
    dec=q.argmax(1)
    c("acc",fp.DecisionRate("accuracy")(d),sk.accuracy_score(y,dec,sample_weight=w)); 
    c("bacc",fp.DecisionRate("balanced accuracy")(d),sk.balanced_accuracy_score(y,dec,sample_weight=w))
    c("brier",fp.BrierScore(normalized=False,per_class=False)(d),(W/W.sum()*((q-np.eye(K)[y])**2).sum(1)).sum())
    # permutation invariance
    p=rng.permutation(n); d2=fp.Predictions.from_posteriors(y[p],q[p],sample_weight=None if w is None else w[p])
    for m in (fp.AUC("macro"),fp.AUC("weighted"),fp.AUC("ovo") if K<20 else fp.AUC(0),fp.AveragePrecision("macro"),fp.AveragePrecision(1),fp.ECE(on="classwise"),fp.ECE(on="confidence",norm="max"),fp.ECE([0,.2,1],on="classwise")):
        c(m.label+"perm",m(d),m(d2))
    # weights=rep
    k=rng.integers(1,4,n); da=fp.Predictions.from_posteriors(y,q,sample_weight=k.astype(float)); db=fp.Predictions.from_posteriors(np.repeat(y,k),np.repeat(q,k,0))
    for m in (fp.AUC("macro"),fp.AUC("weighted"),fp.AUC("ovo") if K<20 else fp.AUC(0),fp.AUC("macro",max_fnr=.2),fp.AveragePrecision("macro"),fp.AveragePrecision(1),fp.ECE(on="classwise"),fp.ECE(on="confidence",norm="max"),fp.ECE([0,.2,1],on="classwise"),fp.DecisionRate("balanced accuracy")):
        c(m.label+"rep",m(da),m(db))
print("bad",bad)
