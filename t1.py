import numpy as np, fastpsr as fp, time
rng=np.random.default_rng(0)
def make(n,K=2):
    y=rng.permutation(np.arange(n)%K); z=rng.normal(size=(n,K))+1.2*np.eye(K)[y]
    return fp.Predictions.from_logits(y,z)
def parts(d,m):
    c=np.sort(rng.integers(0,len(d),m-1)); c=[0,*c,len(d)]
    return fp.from_parts([d[a:b] for a,b in zip(c,c[1:])])
for n,K in ((300,2),(20000,2),(600,3)):
    d=make(n,K); p=parts(d,7)
    for cal in (fp.DirectionPreserving(),fp.TemperatureScaling(),fp.PAV(1e-6),fp.HistogramBinning(floor=1e-6), fp.DirectionPreserving(fp.rules.Brier())):
        if K>2 and cal.binary_only: continue
        f,g=cal.fit(d),cal.fit(p)
        for a in f.fitted_names: np.testing.assert_allclose(getattr(g,a),getattr(f,a),rtol=1e-9,atol=1e-9)
        for tr in (fp.CrossFit(),fp.TrainOnTest(),fp.HeldOut(d)):
            one=fp.cross_fit(cal,d,tr); two=fp.cross_fit(cal,p,tr).compute()
            np.testing.assert_allclose(two.scores,one.scores,rtol=1e-8,atol=1e-8)
            m=fp.CalibrationLoss(fp.rules.Log(),cal,tr)
            a,b=m(d),m(p)
            np.testing.assert_allclose(a,b,rtol=1e-7,atol=1e-8)
            m=fp.ExpectedDivergence(fp.rules.Log(),cal,tr)
            np.testing.assert_allclose(m(d),m(p),rtol=1e-7,atol=1e-12); m.decompose(p)
        print(n,K,cal.__class__.__name__,'ok')
